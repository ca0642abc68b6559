CREATE TABLE public.audiosim_campaigns (
    collection text NOT NULL,
    last bigint NOT NULL
);
CREATE TABLE public.audiosim_events (
    collection text NOT NULL,
    number bigint NOT NULL,
    kind text NOT NULL,
    "time" text NOT NULL,
    assessor text NOT NULL,
    query text NOT NULL,
    document text NOT NULL,
    grades text NOT NULL,
    details text NOT NULL,
    key text,
    refers bigint NOT NULL,
    until text NOT NULL
);
CREATE TABLE public.audiosim_schema (
    one integer NOT NULL,
    version integer NOT NULL
);
CREATE TABLE public.audiosim_tokens (
    name text NOT NULL,
    role text NOT NULL,
    collection text NOT NULL,
    created text NOT NULL,
    expires text NOT NULL,
    digest text NOT NULL
);
INSERT INTO public.audiosim_campaigns VALUES ('demo', 17);
INSERT INTO public.audiosim_events VALUES ('demo', 1, 'lease', '2026-11-21T09:00:14.000Z', 'ann', 'q06', 'd067', '{}', '{}', NULL, 0, '2026-11-21T09:30:14.000Z');
INSERT INTO public.audiosim_events VALUES ('demo', 2, 'judgment', '2026-11-21T09:00:28.000Z', 'ann', 'q06', 'd067', '{"fine": 5.0}', '{}', NULL, 0, '');
INSERT INTO public.audiosim_events VALUES ('demo', 3, 'lease', '2026-11-21T09:00:49.000Z', 'ben', 'q21', 'd034', '{}', '{}', NULL, 0, '2026-11-21T09:30:49.000Z');
INSERT INTO public.audiosim_events VALUES ('demo', 4, 'judgment', '2026-11-21T09:01:03.000Z', 'ben', 'q21', 'd034', '{"fine": 15.0}', '{}', NULL, 0, '');
INSERT INTO public.audiosim_events VALUES ('demo', 5, 'lease', '2026-11-21T09:01:24.000Z', 'ann', 'q19', 'd040', '{}', '{}', NULL, 0, '2026-11-21T09:31:24.000Z');
INSERT INTO public.audiosim_events VALUES ('demo', 6, 'judgment', '2026-11-21T09:01:38.000Z', 'ann', 'q19', 'd040', '{"fine": 25.0}', '{}', NULL, 0, '');
INSERT INTO public.audiosim_events VALUES ('demo', 7, 'lease', '2026-11-21T09:01:59.000Z', 'ben', 'q02', 'd072', '{}', '{}', NULL, 0, '2026-11-21T09:31:59.000Z');
INSERT INTO public.audiosim_events VALUES ('demo', 8, 'judgment', '2026-11-21T09:02:13.000Z', 'ben', 'q02', 'd072', '{"fine": 35.0}', '{}', NULL, 0, '');
INSERT INTO public.audiosim_events VALUES ('demo', 9, 'lease', '2026-11-21T09:02:34.000Z', 'ann', 'q18', 'd070', '{}', '{}', NULL, 0, '2026-11-21T09:32:34.000Z');
INSERT INTO public.audiosim_events VALUES ('demo', 10, 'judgment', '2026-11-21T09:02:48.000Z', 'ann', 'q18', 'd070', '{"fine": 45.0}', '{}', NULL, 0, '');
INSERT INTO public.audiosim_events VALUES ('demo', 11, 'lease', '2026-11-21T09:03:09.000Z', 'ben', 'q04', 'd058', '{}', '{}', NULL, 0, '2026-11-21T09:33:09.000Z');
INSERT INTO public.audiosim_events VALUES ('demo', 12, 'judgment', '2026-11-21T09:03:23.000Z', 'ben', 'q04', 'd058', '{"fine": 55.0}', '{}', NULL, 0, '');
INSERT INTO public.audiosim_events VALUES ('demo', 13, 'undo', '2026-11-21T09:03:37.000Z', 'ann', '', '', '{}', '{}', NULL, 10, '');
INSERT INTO public.audiosim_events VALUES ('demo', 14, 'lease', '2026-11-21T09:03:44.000Z', 'ann', 'q18', 'd070', '{}', '{}', NULL, 0, '2026-11-21T09:33:44.000Z');
INSERT INTO public.audiosim_events VALUES ('demo', 15, 'lease', '2026-11-21T09:04:19.000Z', 'ben', 'q03', 'd068', '{}', '{}', NULL, 0, '2026-11-21T09:34:19.000Z');
INSERT INTO public.audiosim_events VALUES ('demo', 16, 'cannot', '2026-11-21T09:04:05.000Z', 'ben', 'q03', 'd068', '{}', '{"reason": "silent"}', 'k1', 0, '');
INSERT INTO public.audiosim_events VALUES ('demo', 17, 'pause', '2026-11-21T09:04:47.000Z', 'me', '', '', '{}', '{"reason": "lunch"}', NULL, 0, '');
INSERT INTO public.audiosim_schema VALUES (1, 1);
INSERT INTO public.audiosim_tokens VALUES ('ann', 'assessor', 'demo', '2026-11-21T09:05:08.000Z', '', 'efa38cc7962ccb299c747f483e6ef92ac0bda823f1390ec12f601b82beac4c37');
ALTER TABLE ONLY public.audiosim_campaigns
    ADD CONSTRAINT audiosim_campaigns_pkey PRIMARY KEY (collection);
ALTER TABLE ONLY public.audiosim_events
    ADD CONSTRAINT audiosim_events_collection_assessor_key_key UNIQUE (collection, assessor, key);
ALTER TABLE ONLY public.audiosim_events
    ADD CONSTRAINT audiosim_events_pkey PRIMARY KEY (collection, number);
ALTER TABLE ONLY public.audiosim_schema
    ADD CONSTRAINT audiosim_schema_pkey PRIMARY KEY (one);
ALTER TABLE ONLY public.audiosim_tokens
    ADD CONSTRAINT audiosim_tokens_digest_key UNIQUE (digest);
ALTER TABLE ONLY public.audiosim_tokens
    ADD CONSTRAINT audiosim_tokens_pkey PRIMARY KEY (name);
