SELECT id, toStartOfInterval(t, INTERVAL 15 MINUTE) AS quarter, toDate(t, 'America/New_York') AS day, dateDiff('day', d, toDate('2024-07-20')) AS days FROM t ORDER BY id
