-- Parts of dates and times, and days and units counted from an epoch.
SELECT id, toYear(t), toMonth(d), toDayOfMonth(d), toHour(t), toMinute(t), toSecond(t3), toDayOfWeek(d), toDayOfYear(d), toQuarter(d), toISOWeek(d), toISOYear(d), toYYYYMM(d), toYYYYMMDD(t) FROM t;
SELECT id, EXTRACT(YEAR FROM d), EXTRACT(HOUR FROM t), YEAR(d), MONTH(d), toLastDayOfMonth(d) FROM t;
SELECT id, toYYYYMMDDhhmmss(t), toYYYYMM(t3), toMillisecond(t3), toMillisecond(t), toMicrosecond(t3) FROM t;
SELECT toYYYYMMDDhhmmss(d) FROM t;
SELECT id, toRelativeYearNum(t), toRelativeQuarterNum(t), toRelativeMonthNum(t), toRelativeWeekNum(t), toRelativeDayNum(t), toRelativeHourNum(t), toRelativeMinuteNum(t), toRelativeSecondNum(t), toRelativeDayNum(d), toRelativeWeekNum(d) FROM t;
SELECT toRelativeHourNum(d), toRelativeSecondNum(d) FROM t;
SELECT id, monthName(d), dateName('year', t), dateName('month', t), dateName('weekday', t), dateName('day', t), dateName('hour', t), dateName('week', t), dateName('dayofyear', t), dateName('quarter', t), dateName('minute', t), dateName('second', t) FROM t;
SELECT id, toDaysSinceYearZero(d), toDaysSinceYearZero(t), fromDaysSinceYearZero(739136), fromDaysSinceYearZero32(739136), toTypeName(toDaysSinceYearZero(d)), TO_DAYS(d), FROM_DAYS(739136) FROM t;
SELECT id, toRelativeWeekNum(toDate(id + 1)), toRelativeWeekNum(d), timeSlot(t), timeSlot(t3) FROM t;
SELECT toHour(d) FROM t;
SELECT id, toDaysInMonth(d), toDaysInMonth(t), toDaysInMonth(t3), toDaysInMonth(nt), toDaysInMonth(t, 'Asia/Tokyo'), toYearNumSinceEpoch(d), toYearNumSinceEpoch(t, 'Asia/Tokyo'), toMonthNumSinceEpoch(t3), toMonthNumSinceEpoch(nt), toTypeName(toMonthNumSinceEpoch(d)), toTypeName(toYearNumSinceEpoch(nt)) FROM t ORDER BY id;
SELECT toYearNumSinceEpoch(toDate32('1960-01-01')), toMonthNumSinceEpoch(toDateTime64('1960-12-31 23:00:00', 3)), toMonthNumSinceEpoch(toDate32('2299-01-01')), toDaysInMonth(toDate32('2100-02-01')), toDaysInMonth(toDateTime64('1900-02-03 00:00:00', 3));
SELECT id, toModifiedJulianDayOrNull(s), toModifiedJulianDayOrNull(ns), toModifiedJulianDay(toString(d)), fromModifiedJulianDay(i32), fromModifiedJulianDayOrNull(i64), fromModifiedJulianDayOrNull(u16), fromModifiedJulianDay(ni), toModifiedJulianDayOrNull(toFixedString(toString(d), 10)) FROM t ORDER BY id;
SELECT toModifiedJulianDayOrNull('0000-01-01'), toModifiedJulianDayOrNull('2020-1-1'), toModifiedJulianDayOrNull('2020-02-30'), toModifiedJulianDayOrNull('2020-02-10 00:00:00'), toModifiedJulianDayOrNull('9999-12-31'), toModifiedJulianDayOrNull('1582-10-10'), fromModifiedJulianDayOrNull(-678941), fromModifiedJulianDayOrNull(-678942), fromModifiedJulianDayOrNull(2973483), fromModifiedJulianDayOrNull(2973484), fromModifiedJulianDay(-100840);
SELECT toModifiedJulianDay('x');
SELECT fromModifiedJulianDay(60000000);
SELECT toModifiedJulianDay(d) FROM t;
SELECT monthName(toDateTime64('1969-12-31 23:59:59.999', 3, 'UTC')), toDaysSinceYearZero(x), toDaysSinceYearZero(x, 'Asia/Tokyo'), toDaysSinceYearZero(toDateTime64(x, 3)), toDaysSinceYearZero(toDateTime64(x, 3), 'Asia/Tokyo') FROM (SELECT toTimeZone(toDateTime('2024-02-29 23:59:59', 'UTC'), 'America/New_York') AS x);
SELECT toMonthNumSinceEpoch(addYears(x, 6000)), toMonthNumSinceEpoch(toNullable(x)), toYearNumSinceEpoch(addYears(x, 6000)) FROM (SELECT toDate32(arrayJoin(['2024-02-29', '1950-01-01'])) AS x);

-- EXTRACT of further parts
SELECT id, extract(dow FROM d), extract(doy FROM t3), extract(isodow FROM nt), EXTRACT(ISOYEAR FROM toDate32(d)), extract(millisecond FROM t3), extract(DOW FROM toTimeZone(t, 'America/New_York')) FROM t ORDER BY id;
