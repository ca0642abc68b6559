CREATE OR REPLACE FUNCTION public.audiosim_refuse_older() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
        BEGIN RAISE EXCEPTION 'the database was upgraded and this program is older: restart it with the version of the upgrade' USING ERRCODE = 'check_violation'; END $$;
CREATE TABLE public.audiosim_campaigns (
    collection text NOT NULL,
    last bigint NOT NULL,
    digest text DEFAULT ''::text NOT NULL,
    about text DEFAULT ''::text NOT NULL,
    rules text DEFAULT ''::text NOT NULL
);
CREATE TABLE public.audiosim_deliveries (
    number integer NOT NULL,
    collection text NOT NULL,
    sender text NOT NULL,
    key text,
    digest text NOT NULL,
    bytes bigint NOT NULL,
    "time" text NOT NULL,
    answer text NOT NULL
);
CREATE SEQUENCE public.audiosim_deliveries_number_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.audiosim_deliveries_number_seq OWNED BY public.audiosim_deliveries.number;
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
    until text NOT NULL,
    digest text DEFAULT ''::text NOT NULL,
    layout integer DEFAULT 0 NOT NULL
);
CREATE TABLE public.audiosim_imports (
    number integer NOT NULL,
    collection text NOT NULL,
    prefix text NOT NULL,
    by text NOT NULL,
    "time" text NOT NULL,
    status text NOT NULL,
    lines integer,
    written integer NOT NULL,
    problem text NOT NULL,
    body bytea NOT NULL,
    worker text NOT NULL,
    seen double precision NOT NULL
);
CREATE SEQUENCE public.audiosim_imports_number_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.audiosim_imports_number_seq OWNED BY public.audiosim_imports.number;
CREATE TABLE public.audiosim_lessons (
    key text NOT NULL,
    "time" text NOT NULL,
    learned text NOT NULL
);
CREATE TABLE public.audiosim_tokens (
    name text NOT NULL,
    role text NOT NULL,
    collection text NOT NULL,
    created text NOT NULL,
    expires text NOT NULL,
    digest text NOT NULL
);
CREATE TABLE public.audiosim_tokens_history (
    number integer NOT NULL,
    "time" text NOT NULL,
    kind text NOT NULL,
    name text NOT NULL
);
CREATE SEQUENCE public.audiosim_tokens_history_number_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.audiosim_tokens_history_number_seq OWNED BY public.audiosim_tokens_history.number;
CREATE TABLE public.audiosim_version (
    version_num character varying(32) NOT NULL
);
ALTER TABLE ONLY public.audiosim_deliveries ALTER COLUMN number SET DEFAULT nextval('public.audiosim_deliveries_number_seq'::regclass);
ALTER TABLE ONLY public.audiosim_imports ALTER COLUMN number SET DEFAULT nextval('public.audiosim_imports_number_seq'::regclass);
ALTER TABLE ONLY public.audiosim_tokens_history ALTER COLUMN number SET DEFAULT nextval('public.audiosim_tokens_history_number_seq'::regclass);
INSERT INTO public.audiosim_campaigns VALUES ('demo', 17, '3d257aa39382beb5feef196833780e27cf3ea1cbbb9ad6c6162c11fcd25ee049', '{"scale": "fine", "levels": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0, 18.0, 19.0, 20.0, 21.0, 22.0, 23.0, 24.0, 25.0, 26.0, 27.0, 28.0, 29.0, 30.0, 31.0, 32.0, 33.0, 34.0, 35.0, 36.0, 37.0, 38.0, 39.0, 40.0, 41.0, 42.0, 43.0, 44.0, 45.0, 46.0, 47.0, 48.0, 49.0, 50.0, 51.0, 52.0, 53.0, 54.0, 55.0, 56.0, 57.0, 58.0, 59.0, 60.0, 61.0, 62.0, 63.0, 64.0, 65.0, 66.0, 67.0, 68.0, 69.0, 70.0, 71.0, 72.0, 73.0, 74.0, 75.0, 76.0, 77.0, 78.0, 79.0, 80.0, 81.0, 82.0, 83.0, 84.0, 85.0, 86.0, 87.0, 88.0, 89.0, 90.0, 91.0, 92.0, 93.0, 94.0, 95.0, 96.0, 97.0, 98.0, 99.0, 100.0], "cutoff": 5, "task": "", "pool": "bdace8692bc1f2182b26b01b3e02f966e1546dc3e1b14892af1e251977b7c648", "pairs": "c-m#!L9U%A42I#YL>Xsr0o%Y@qRhI1?tju$3eY}hbfs56pN$O$e9zCH-~aw<-+z4j{@2&<zrTKb`!5)R5EP)P(fp#T(LcVJf+g61@g+!s8sU&|NII9)_0-c+w7S6A*45~y;eaj(!2+}|fg0^&$Od$+yhQy0L(wq=DR8z!v!Ux@JVLXf*-$hUO&v=oR}LxtD6LF~%<Jhem484BK>q>^hl~;|z+1@&Ou+`EX5Zo;uG0fFTZ&FaUp&HigzGd6&;cnZ!2-OP9?%4u?P?5%4E-1%LpC7P2+f8=QrFWVX@FA4(g3BNmX4KHO3_mEt&eay`~g!dZ#kr;FI^w$k(AcL12&*3+7x{&C|xk=`bdjoS{&0Alpb2?&Q6z9S_==*Y-lz#n+{2>yi+XAewy2K@2AO5b6ckJfD{y<4S`>Dzvzm-%S4%%KVSqP{NioGvN#@~AE{{SM;VV7<mqmhF8*o64p8G=1g7<LS}mtBoi6R^N}itk)0j@r{b_NWuJviPoL0-}xj)?=)01$T+i5+WrgB<7r#FLX`J5KVWh$4uVVSvQ9b1;I<@Pv0jjq|QMpvVMXe@z_z03FVtXvkh<sD{ucrLTQ%>FXj%iJ#a?K0WRZMrOu%YC~{_5p^l6n%&1b|Y_V;Wm}qRBki3Eq&X(Z1b``fwud0n}%%~wwrK!ByIDuO~W?o+da44bK5j*>*+QPn=|TnQT+cFJKz?_3#MQJ?vA=31zH(?F|;xqa*N{yn!Qm!ApN4$sE;pntQ5UhxC^dE<0*Q<2HgAD1tBQG6lkSs<zC?q7<xK1`|@JX-~z3LR>H}JRzlHKBOQ_sDTkD1OHW_s>?$<73KtZhsqxa#sZtjVK?*)JHemQgXeB>@X4A=~e%wOeYyezvBQ^}s;1IuH1MYpS*#Nj;3DkHY99+;YP~%?EF3{}I^`S=SdZ_WzFbwjbu3w;)(n={>nk}uA5u0kfvK6K>Ol6qLa5vbyxL^ph(zMdF@{%2<GEAkNi3_w6dK!v`qOWY(s%W+<nyrdvBcj=NxInX|m6tht2F>^W1yis9@32VAR+<K%_Xi9$hC_x!!XcsS;cP?4!pWtgsYW`aG+Q5E+%))_zhDTaU;$pDeD62k`_1=$^Lc;3P;}_&+b`v*Ugo8EMqZ%VaB`t&YBtp<&6aa1=TgR_^t3*#=-4Zc)7(y8Cl_qMJH@6uYSJ*fK+)llSLy63G+PAC7D2N`&}<Q0P=M5r)Jkfl98ylMjMzuiUtwED-S_?hFUUUco6q~^^S=2KKOjE92E2GIZ(BZ^FHocOw480}$L%>DaR0r~wnxEsC2#Mz+jD<grM7E*d(3Ya|F&%Tnm?fHdRO#qkL@MT=Y8{e-+awqpdX<|I3zWj#-lV_&ZV47sc}=;zgYYiOu#)oE*OFWbie3Y=~}tReD^hfz|fBy_3nHB0v#KQhVi(C?E<ZYRzla)>8C?dKg!9K8l^@V!qSh@%FDh#E9f>64rmT}%b~GNyKRPUSE1Wg=ynwj=vsM8s=1{6c|-Tt4Ba0ubXye{Xk|E;(6LY>)QAraJxw*z$)y1*=TZ(ShrI0Dndo*Vy1#emb|x+uf&z5EczfSQMEB<n-JdsfTNMX{Uxa>yX4812lS>1XI+mJE9V<o4AeS1Yr!RAZ1NedvOu+`ceQSs0f)p%3*Rif>SL1C{dngACMTeq8Plux6khd#ss$B4)p<}6Isg*RyrP)&SBe&Ds-V1B@#~c?7K?qW?0L>xYAun_OcH@AdW5X|A`LrR@ZHQc;A8#YuAvqwmk~)@}O|7J&rRcxcuV4QFR|=L%"}', '');
INSERT INTO public.audiosim_deliveries VALUES (1, 'demo', 'me', 'key', '798b58e427e260165a176fc8909c3274056cf0d919f3df0996eed46b51a6b3df', 6, '2026-11-23T18:16:15.104Z', '1');
INSERT INTO public.audiosim_events VALUES ('demo', 1, 'lease', '2026-11-21T09:00:14.000Z', 'ann', 'q06', 'd067', '{}', '{}', NULL, 0, '2026-11-21T09:30:14.000Z', 'e431c1906ee05f6652b1a9e7cc9b17df6c362a03a520a80fbf28d26aa1318582', 5);
INSERT INTO public.audiosim_events VALUES ('demo', 2, 'judgment', '2026-11-21T09:00:28.000Z', 'ann', 'q06', 'd067', '{"fine": 5.0}', '{}', NULL, 0, '', 'df8fcc10c7ee6b00f46ef7ccf8d95baf32e53f4f4ee032a0805a4427114629c2', 5);
INSERT INTO public.audiosim_events VALUES ('demo', 3, 'lease', '2026-11-21T09:00:49.000Z', 'ben', 'q21', 'd034', '{}', '{}', NULL, 0, '2026-11-21T09:30:49.000Z', '170b15443a438f06d9f279b3ed866c35f1ed82b4b5553379fefe35ef2baae148', 5);
INSERT INTO public.audiosim_events VALUES ('demo', 4, 'judgment', '2026-11-21T09:01:03.000Z', 'ben', 'q21', 'd034', '{"fine": 15.0}', '{}', NULL, 0, '', '94c7f95a74b82bdf3c96bf0b8b998c0614099b15671953f976721f908760fba5', 5);
INSERT INTO public.audiosim_events VALUES ('demo', 5, 'lease', '2026-11-21T09:01:24.000Z', 'ann', 'q19', 'd040', '{}', '{}', NULL, 0, '2026-11-21T09:31:24.000Z', 'afc1a7b0ca80512066012c04f5e058453a3a121214f5fba413ec758a80f6b76b', 5);
INSERT INTO public.audiosim_events VALUES ('demo', 6, 'judgment', '2026-11-21T09:01:38.000Z', 'ann', 'q19', 'd040', '{"fine": 25.0}', '{}', NULL, 0, '', '30ffda4c76cb89ebec683d8e068ebca69d6cd4a9acfe0e960cc5940dc3fde186', 5);
INSERT INTO public.audiosim_events VALUES ('demo', 7, 'lease', '2026-11-21T09:01:59.000Z', 'ben', 'q02', 'd072', '{}', '{}', NULL, 0, '2026-11-21T09:31:59.000Z', 'fe1052aadda9cc7ddd92db008acb9beb9606a26fd3455e911fc2c988a5ff23ef', 5);
INSERT INTO public.audiosim_events VALUES ('demo', 8, 'judgment', '2026-11-21T09:02:13.000Z', 'ben', 'q02', 'd072', '{"fine": 35.0}', '{}', NULL, 0, '', '60546af6692db6e3da2e589ed2913108deb045e29a0b6bcd97d1b94a2677e8f9', 5);
INSERT INTO public.audiosim_events VALUES ('demo', 9, 'lease', '2026-11-21T09:02:34.000Z', 'ann', 'q18', 'd070', '{}', '{}', NULL, 0, '2026-11-21T09:32:34.000Z', 'a84a7e7fb3cb59ad440c77675f8f607bf24cc3f3a2a7ae3e0b9e305959242b2d', 5);
INSERT INTO public.audiosim_events VALUES ('demo', 10, 'judgment', '2026-11-21T09:02:48.000Z', 'ann', 'q18', 'd070', '{"fine": 45.0}', '{}', NULL, 0, '', '7e5f5f991bcef4d5c9ed266375b684c1c5123686701f521dbda14148eaf9ef43', 5);
INSERT INTO public.audiosim_events VALUES ('demo', 11, 'lease', '2026-11-21T09:03:09.000Z', 'ben', 'q04', 'd058', '{}', '{}', NULL, 0, '2026-11-21T09:33:09.000Z', 'e407f2aaa94249934c453ba9656656a7b0ffbdbf067052571a76a2ddf526a16c', 5);
INSERT INTO public.audiosim_events VALUES ('demo', 12, 'judgment', '2026-11-21T09:03:23.000Z', 'ben', 'q04', 'd058', '{"fine": 55.0}', '{}', NULL, 0, '', 'be19dec843ed408f302a21b32e607994558c9b10cabf3675f4211dd7fea7c150', 5);
INSERT INTO public.audiosim_events VALUES ('demo', 13, 'undo', '2026-11-21T09:03:37.000Z', 'ann', '', '', '{}', '{}', NULL, 10, '', 'cc4b90167beaa130f77c6945e3f064aecdcb12f5a28b91d3f7fa646a5514858a', 5);
INSERT INTO public.audiosim_events VALUES ('demo', 14, 'lease', '2026-11-21T09:03:37.000Z', 'ann', 'q18', 'd070', '{}', '{}', NULL, 0, '2026-11-21T09:33:37.000Z', 'e513796a9c1df23329cd6565487ad9baf87118742b2f29eb002f7618c8595bd2', 5);
INSERT INTO public.audiosim_events VALUES ('demo', 15, 'lease', '2026-11-21T09:04:05.000Z', 'ben', 'q03', 'd068', '{}', '{}', NULL, 0, '2026-11-21T09:34:05.000Z', 'ea38bb8ede9ff39f79a2686652d67bf9a26981ceebea328acde757948fa896c5', 5);
INSERT INTO public.audiosim_events VALUES ('demo', 16, 'cannot', '2026-11-21T09:03:51.000Z', 'ben', 'q03', 'd068', '{}', '{"reason": "silent"}', 'k1', 0, '', '5bed511f4cc12fe712f0163e76d096cc7dd0434107e2b1707a74575391a69635', 5);
INSERT INTO public.audiosim_events VALUES ('demo', 17, 'pause', '2026-11-21T09:04:33.000Z', 'me', '', '', '{}', '{"reason": "lunch"}', NULL, 0, '', '3d257aa39382beb5feef196833780e27cf3ea1cbbb9ad6c6162c11fcd25ee049', 5);
INSERT INTO public.audiosim_imports VALUES (1, 'demo', 'import-a68707334954e2f9', 'me', '2026-11-23T18:16:15.094Z', 'failed', NULL, 0, 'line 1: expected a header', '\x', '', 0);
INSERT INTO public.audiosim_tokens VALUES ('ann', 'assessor', 'demo', '2026-11-21T09:04:54.000Z', '', 'c544d734b45dd6f334b0c919c80d2934ce8585958a61f7a78e1ae22be8f2fec9');
INSERT INTO public.audiosim_tokens_history VALUES (1, '2026-11-21T09:05:01.000Z', 'create', 'ann');
INSERT INTO public.audiosim_tokens_history VALUES (2, '2026-11-21T09:05:15.000Z', 'create', 'ben');
INSERT INTO public.audiosim_tokens_history VALUES (3, '2026-11-21T09:05:22.000Z', 'revoke', 'ben');
INSERT INTO public.audiosim_version VALUES ('5');
SELECT pg_catalog.setval('public.audiosim_deliveries_number_seq', 1, true);
SELECT pg_catalog.setval('public.audiosim_imports_number_seq', 1, true);
SELECT pg_catalog.setval('public.audiosim_tokens_history_number_seq', 3, true);
ALTER TABLE ONLY public.audiosim_campaigns
    ADD CONSTRAINT audiosim_campaigns_pkey PRIMARY KEY (collection);
ALTER TABLE ONLY public.audiosim_deliveries
    ADD CONSTRAINT audiosim_deliveries_collection_sender_key_key UNIQUE (collection, sender, key);
ALTER TABLE ONLY public.audiosim_deliveries
    ADD CONSTRAINT audiosim_deliveries_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.audiosim_events
    ADD CONSTRAINT audiosim_events_collection_assessor_key_key UNIQUE (collection, assessor, key);
ALTER TABLE ONLY public.audiosim_events
    ADD CONSTRAINT audiosim_events_pkey PRIMARY KEY (collection, number);
ALTER TABLE ONLY public.audiosim_imports
    ADD CONSTRAINT audiosim_imports_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.audiosim_lessons
    ADD CONSTRAINT audiosim_lessons_pkey PRIMARY KEY (key);
ALTER TABLE ONLY public.audiosim_tokens
    ADD CONSTRAINT audiosim_tokens_digest_key UNIQUE (digest);
ALTER TABLE ONLY public.audiosim_tokens_history
    ADD CONSTRAINT audiosim_tokens_history_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.audiosim_tokens
    ADD CONSTRAINT audiosim_tokens_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.audiosim_version
    ADD CONSTRAINT audiosim_version_pkc PRIMARY KEY (version_num);
CREATE TRIGGER audiosim_refuse_older BEFORE INSERT ON public.audiosim_events FOR EACH ROW WHEN ((new.layout < 5)) EXECUTE FUNCTION public.audiosim_refuse_older();
