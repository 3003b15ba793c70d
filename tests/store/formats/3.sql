BEGIN TRANSACTION;
CREATE TABLE call (
	number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	campaign INTEGER NOT NULL, 
	request TEXT NOT NULL, 
	question INTEGER NOT NULL, 
	judge INTEGER NOT NULL, 
	first INTEGER NOT NULL, 
	second INTEGER NOT NULL, 
	turned SMALLINT NOT NULL, 
	again TEXT, 
	prompt_hash TEXT NOT NULL, 
	parameters TEXT NOT NULL, 
	model TEXT, 
	raw TEXT, 
	reason TEXT, 
	outcome FLOAT, 
	p FLOAT, 
	problem TEXT, 
	tokens_in BIGINT, 
	tokens_out BIGINT, 
	counted SMALLINT NOT NULL, 
	ms BIGINT, 
	tries INTEGER, 
	cost FLOAT, 
	prompt TEXT, 
	at BIGINT NOT NULL, 
	done BIGINT, 
	UNIQUE (campaign, request)
);
INSERT INTO "call" VALUES(1,1,'r1',1,0,0,1,0,NULL,'ab','{}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL,NULL,NULL,7,NULL);
CREATE TABLE campaign (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	slug TEXT NOT NULL, 
	title TEXT NOT NULL, 
	question TEXT NOT NULL, 
	instructions TEXT NOT NULL, 
	version INTEGER NOT NULL, 
	options JSON NOT NULL, 
	seed BIGINT NOT NULL, 
	state TEXT NOT NULL, 
	admin_hash TEXT NOT NULL, 
	made BIGINT NOT NULL, 
	last_vote BIGINT NOT NULL, 
	last_event BIGINT NOT NULL, 
	plans INTEGER NOT NULL, 
	planned_at BIGINT NOT NULL, 
	UNIQUE (slug)
);
INSERT INTO "campaign" VALUES(1,'tea','Tea','Which?','',1,'{"ties": true}',7,'open','0000000000000000000000000000000000000000000000000000000000000000',1794812159685,4,1,0,0);
CREATE TABLE derived (
	campaign INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	last_vote BIGINT NOT NULL, 
	last_event BIGINT NOT NULL, 
	version TEXT NOT NULL, 
	bytes BLOB NOT NULL, 
	checksum TEXT NOT NULL, 
	PRIMARY KEY (campaign, name)
);
INSERT INTO "derived" VALUES(1,'ranks',4,1,'0.1.0',X'000000000100000002000000','ae7090283f60ab81da586bb501af03bd');
CREATE TABLE event (
	campaign INTEGER NOT NULL, 
	seq BIGINT NOT NULL, 
	at BIGINT NOT NULL, 
	who TEXT NOT NULL, 
	verb TEXT NOT NULL, 
	data JSON NOT NULL, 
	PRIMARY KEY (campaign, seq)
);
INSERT INTO "event" VALUES(1,1,6,'organiser','state','{"to": "open"}');
CREATE TABLE hold (
	name TEXT NOT NULL, 
	pid INTEGER NOT NULL, 
	host TEXT NOT NULL, 
	token TEXT NOT NULL, 
	beat BIGINT NOT NULL, 
	PRIMARY KEY (name)
);
CREATE TABLE item (
	campaign INTEGER NOT NULL, 
	code INTEGER NOT NULL, 
	label TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	body TEXT, 
	media TEXT, 
	features JSON, 
	added BIGINT NOT NULL, 
	withdrawn BIGINT, 
	PRIMARY KEY (campaign, code), 
	UNIQUE (campaign, label)
);
INSERT INTO "item" VALUES(1,0,'tea','text',NULL,NULL,NULL,1,NULL);
INSERT INTO "item" VALUES(1,1,'milk','text',NULL,NULL,NULL,1,NULL);
INSERT INTO "item" VALUES(1,2,'café','text',NULL,NULL,'[1.5]',1,NULL);
CREATE TABLE item_text (
	campaign INTEGER NOT NULL, 
	item INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	body TEXT NOT NULL, 
	PRIMARY KEY (campaign, item, name)
);
INSERT INTO "item_text" VALUES(1,0,'context','what is this');
CREATE TABLE judge (
	campaign INTEGER NOT NULL, 
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	token_hash TEXT, 
	outside_id TEXT, 
	state TEXT NOT NULL, 
	target INTEGER, 
	made BIGINT NOT NULL, 
	seen BIGINT, 
	conflicts JSON NOT NULL, 
	PRIMARY KEY (campaign, id), 
	UNIQUE (campaign, name), 
	UNIQUE (campaign, outside_id), 
	UNIQUE (token_hash)
);
INSERT INTO "judge" VALUES(1,0,'ann','person','1111111111111111111111111111111111111111111111111111111111111111',NULL,'active',NULL,1,NULL,'[]');
CREATE TABLE lease (
	campaign INTEGER NOT NULL, 
	question INTEGER NOT NULL, 
	judge INTEGER NOT NULL, 
	pair BIGINT NOT NULL, 
	shown BIGINT NOT NULL, 
	PRIMARY KEY (campaign, question, judge)
);
CREATE TABLE media (
	campaign INTEGER NOT NULL, 
	sha256 TEXT NOT NULL, 
	type TEXT NOT NULL, 
	size BIGINT NOT NULL, 
	bytes BLOB NOT NULL, 
	PRIMARY KEY (campaign, sha256)
);
CREATE TABLE podium (
	format INTEGER NOT NULL, 
	version TEXT NOT NULL
);
INSERT INTO "podium" VALUES(3,'0.1.0');
CREATE TABLE question (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	campaign INTEGER NOT NULL, 
	"plan" INTEGER NOT NULL, 
	place INTEGER NOT NULL, 
	"left" INTEGER NOT NULL, 
	"right" INTEGER NOT NULL, 
	pair BIGINT NOT NULL, 
	kind TEXT NOT NULL, 
	wanted INTEGER NOT NULL, 
	predicted FLOAT, 
	state TEXT NOT NULL, 
	judge INTEGER, 
	until BIGINT
);
INSERT INTO "question" VALUES(1,1,0,0,0,1,1,'chosen',1,NULL,'open',NULL,NULL);
INSERT INTO "question" VALUES(2,1,0,0,1,2,2147483650,'check',1,0.8,'open',NULL,NULL);
CREATE TABLE snapshot (
	campaign INTEGER NOT NULL, 
	seq BIGINT NOT NULL, 
	format SMALLINT NOT NULL, 
	bytes BLOB NOT NULL, 
	checksum TEXT NOT NULL, 
	PRIMARY KEY (campaign, seq)
);
CREATE TABLE vote (
	campaign INTEGER NOT NULL, 
	seq BIGINT NOT NULL, 
	client_id TEXT NOT NULL, 
	judge INTEGER NOT NULL, 
	question INTEGER, 
	"left" INTEGER NOT NULL, 
	"right" INTEGER NOT NULL, 
	outcome FLOAT, 
	reason TEXT, 
	undoes BIGINT, 
	kind TEXT NOT NULL, 
	version INTEGER NOT NULL, 
	predicted FLOAT, 
	ms BIGINT, 
	shown BIGINT, 
	received BIGINT NOT NULL, 
	PRIMARY KEY (campaign, seq), 
	UNIQUE (campaign, judge, client_id), 
	UNIQUE (campaign, undoes)
)
 WITHOUT ROWID

;
INSERT INTO "vote" VALUES(1,1,'a',0,1,0,1,1.0,NULL,NULL,'chosen',1,NULL,900,1,2);
INSERT INTO "vote" VALUES(1,2,'b',0,2,1,2,0.0,NULL,NULL,'check',1,0.8,NULL,NULL,3);
INSERT INTO "vote" VALUES(1,3,'c',0,2,1,2,NULL,NULL,2,'check',1,NULL,NULL,NULL,4);
INSERT INTO "vote" VALUES(1,4,'d',0,2,1,2,0.5,NULL,NULL,'check',1,0.8,NULL,NULL,5);
CREATE UNIQUE INDEX question_once ON question (campaign, pair) WHERE state IN ('open', 'out');
CREATE INDEX question_held ON question (campaign, judge, state);
CREATE INDEX question_queue ON question (campaign, state, "plan", place);
CREATE INDEX lease_pair ON lease (campaign, judge, pair);
CREATE INDEX vote_of_judge ON vote (campaign, judge, seq);
CREATE INDEX vote_of_question ON vote (campaign, question, judge);
CREATE TRIGGER vote_no_update BEFORE UPDATE ON vote FOR EACH ROW WHEN (NOT (NEW.campaign IS OLD.campaign AND NEW.seq IS OLD.seq AND NEW.client_id IS OLD.client_id AND NEW.judge IS OLD.judge AND NEW.question IS OLD.question AND NEW.outcome IS OLD.outcome AND NEW.undoes IS OLD.undoes AND NEW.kind IS OLD.kind AND NEW.version IS OLD.version AND NEW.predicted IS OLD.predicted AND NEW.ms IS OLD.ms AND NEW.shown IS OLD.shown AND NEW.received IS OLD.received AND NEW."left" = OLD."left" AND NEW."right" = OLD."right" AND NEW.reason IS NULL)) BEGIN SELECT RAISE(ABORT, 'vote is append-only'); END;
CREATE TRIGGER vote_no_delete BEFORE DELETE ON vote FOR EACH ROW  BEGIN SELECT RAISE(ABORT, 'vote is append-only'); END;
CREATE TRIGGER event_no_update BEFORE UPDATE ON event FOR EACH ROW  BEGIN SELECT RAISE(ABORT, 'event is append-only'); END;
CREATE TRIGGER event_no_delete BEFORE DELETE ON event FOR EACH ROW  BEGIN SELECT RAISE(ABORT, 'event is append-only'); END;
CREATE INDEX call_of_question ON call (campaign, judge, question);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('campaign',1);
INSERT INTO "sqlite_sequence" VALUES('question',2);
INSERT INTO "sqlite_sequence" VALUES('call',1);
COMMIT;
