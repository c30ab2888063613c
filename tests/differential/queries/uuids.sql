-- UUIDs as bytes, and the time in them.
SELECT hex(UUIDToNum(toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0'))), toTypeName(UUIDToNum(toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0'))), UUIDv7ToDateTime(toUUID('018f05c9-4ab8-7b86-b64e-c9f03fbd45d1')), UUIDv7ToDateTime(toUUID('018f05c9-4ab8-7b86-b64e-c9f03fbd45d1'), 'Asia/Tokyo'), UUIDv7ToDateTime(toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0')), toTypeName(UUIDv7ToDateTime(toUUID('018f05c9-4ab8-7b86-b64e-c9f03fbd45d1')));
SELECT UUIDToNum('61f0c404-5cb3-11e7-907b-a6006ad3dba0');
SELECT x, UUIDv7ToDateTime(x) FROM (SELECT arrayJoin([toNullable(toUUID('018f3a5c-7b2e-7cc0-8000-0123456789ab')), NULL, toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0')]) AS x);
