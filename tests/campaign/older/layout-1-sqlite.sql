BEGIN TRANSACTION;
CREATE TABLE audiosim_campaigns (
	collection TEXT NOT NULL, 
	last BIGINT NOT NULL, 
	PRIMARY KEY (collection)
);
INSERT INTO "audiosim_campaigns" VALUES('demo',17);
CREATE TABLE audiosim_events (
	collection TEXT NOT NULL, 
	number BIGINT NOT NULL, 
	kind TEXT NOT NULL, 
	time TEXT NOT NULL, 
	assessor TEXT NOT NULL, 
	"query" TEXT NOT NULL, 
	document TEXT NOT NULL, 
	grades TEXT NOT NULL, 
	details TEXT NOT NULL, 
	"key" TEXT, 
	refers BIGINT NOT NULL, 
	until TEXT NOT NULL, 
	PRIMARY KEY (collection, number), 
	UNIQUE (collection, assessor, "key")
);
INSERT INTO "audiosim_events" VALUES('demo',1,'lease','2026-11-21T09:00:14.000Z','ann','q06','d067','{}','{}',NULL,0,'2026-11-21T09:30:14.000Z');
INSERT INTO "audiosim_events" VALUES('demo',2,'judgment','2026-11-21T09:00:28.000Z','ann','q06','d067','{"fine": 5.0}','{}',NULL,0,'');
INSERT INTO "audiosim_events" VALUES('demo',3,'lease','2026-11-21T09:00:49.000Z','ben','q21','d034','{}','{}',NULL,0,'2026-11-21T09:30:49.000Z');
INSERT INTO "audiosim_events" VALUES('demo',4,'judgment','2026-11-21T09:01:03.000Z','ben','q21','d034','{"fine": 15.0}','{}',NULL,0,'');
INSERT INTO "audiosim_events" VALUES('demo',5,'lease','2026-11-21T09:01:24.000Z','ann','q19','d040','{}','{}',NULL,0,'2026-11-21T09:31:24.000Z');
INSERT INTO "audiosim_events" VALUES('demo',6,'judgment','2026-11-21T09:01:38.000Z','ann','q19','d040','{"fine": 25.0}','{}',NULL,0,'');
INSERT INTO "audiosim_events" VALUES('demo',7,'lease','2026-11-21T09:01:59.000Z','ben','q02','d072','{}','{}',NULL,0,'2026-11-21T09:31:59.000Z');
INSERT INTO "audiosim_events" VALUES('demo',8,'judgment','2026-11-21T09:02:13.000Z','ben','q02','d072','{"fine": 35.0}','{}',NULL,0,'');
INSERT INTO "audiosim_events" VALUES('demo',9,'lease','2026-11-21T09:02:34.000Z','ann','q18','d070','{}','{}',NULL,0,'2026-11-21T09:32:34.000Z');
INSERT INTO "audiosim_events" VALUES('demo',10,'judgment','2026-11-21T09:02:48.000Z','ann','q18','d070','{"fine": 45.0}','{}',NULL,0,'');
INSERT INTO "audiosim_events" VALUES('demo',11,'lease','2026-11-21T09:03:09.000Z','ben','q04','d058','{}','{}',NULL,0,'2026-11-21T09:33:09.000Z');
INSERT INTO "audiosim_events" VALUES('demo',12,'judgment','2026-11-21T09:03:23.000Z','ben','q04','d058','{"fine": 55.0}','{}',NULL,0,'');
INSERT INTO "audiosim_events" VALUES('demo',13,'undo','2026-11-21T09:03:37.000Z','ann','','','{}','{}',NULL,10,'');
INSERT INTO "audiosim_events" VALUES('demo',14,'lease','2026-11-21T09:03:44.000Z','ann','q18','d070','{}','{}',NULL,0,'2026-11-21T09:33:44.000Z');
INSERT INTO "audiosim_events" VALUES('demo',15,'lease','2026-11-21T09:04:19.000Z','ben','q03','d068','{}','{}',NULL,0,'2026-11-21T09:34:19.000Z');
INSERT INTO "audiosim_events" VALUES('demo',16,'cannot','2026-11-21T09:04:05.000Z','ben','q03','d068','{}','{"reason": "silent"}','k1',0,'');
INSERT INTO "audiosim_events" VALUES('demo',17,'pause','2026-11-21T09:04:47.000Z','me','','','{}','{"reason": "lunch"}',NULL,0,'');
CREATE TABLE audiosim_schema (
	one INTEGER NOT NULL, 
	version INTEGER NOT NULL, 
	PRIMARY KEY (one)
);
INSERT INTO "audiosim_schema" VALUES(1,1);
CREATE TABLE audiosim_tokens (
	name TEXT NOT NULL, 
	role TEXT NOT NULL, 
	collection TEXT NOT NULL, 
	created TEXT NOT NULL, 
	expires TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	PRIMARY KEY (name), 
	UNIQUE (digest)
);
INSERT INTO "audiosim_tokens" VALUES('ann','assessor','demo','2026-11-21T09:05:08.000Z','','07111dcd7ef03227cbe04a003d910163a697c173db7616b7b34e58823be5e146');
COMMIT;
