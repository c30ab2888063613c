SELECT u8 + 1 AS more, more * 2 AS twice FROM t WHERE twice > 10
