package penstock;

import java.math.BigDecimal;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The date or time in a text of the fixed forms that ClickHouse's toDate, toDateOrNull and toDateTimeOrNull read:
 * YYYY-MM-DD hh:mm:ss with any separators, and seconds since 1970; null for any other text. A day after the end of its
 * month counts into the next one; a month or day that no calendar has is the type's first.
 *
 * scripts/java_jars.py compiles this file into the jar beside it.
 */
public final class FixedTime {
    private static final int DATE_LENGTH = 10;
    private static final int TIME_LENGTH = 19;
    private static final int FIRST_DAY = -25567;
    private static final int LAST_OF_TABLE = 2299;
    private static final int LAST_OF_DATE = 65535;
    private static final long LAST_SECOND = 4294967295L;
    private static final int SECONDS_OF_DAY = 86400;
    private static final long FIRST_OF_YEARS = -62167219200L;
    private static final long END_OF_YEARS = 253402300800L;
    private static final long[] POWERS = {
        1L, 10L, 100L, 1000L, 10000L, 100000L, 1000000L, 10000000L, 100000000L, 1000000000L
    };
    private static final UTF8String UTC = UTF8String.fromString("");

    private final Object base;
    private final long start;
    private final int size;
    private int place;
    private boolean failed;
    private boolean isNumber;

    private FixedTime(UTF8String text) {
        this.base = text.getBaseObject();
        this.start = text.getBaseOffset();
        this.size = text.numBytes();
    }

    /** A Date as days since 1970. */
    public static Integer date(UTF8String text) {
        int day = new FixedTime(text).readDate();
        return day == Integer.MIN_VALUE ? null : Integer.valueOf(Math.max(0, Math.min(day, LAST_OF_DATE)));
    }

    /** A Date32. */
    public static Integer wideDate(UTF8String text) {
        int day = new FixedTime(text).readDate();
        return day == Integer.MIN_VALUE ? null : Integer.valueOf(day);
    }

    /** A DateTime, of the clock of a zone, as microseconds. */
    public static Long time(UTF8String text, UTF8String zone) {
        FixedTime reader = new FixedTime(text);
        long second = reader.readSecond(zone);
        if (reader.failed || reader.place < reader.size) {
            return null;
        }
        return Long.valueOf(Math.max(0L, Math.min(second, LAST_SECOND)) * 1000000L);
    }

    /** A DateTime64 of up to six digits as microseconds; null also where `isFar`. */
    public static Long time64(UTF8String text, UTF8String zone, int precision) {
        FixedTime reader = new FixedTime(text);
        long ticks = reader.readTicks(zone, precision);
        return reader.failed || isFar(ticks, precision) ? null : Long.valueOf(ticks * POWERS[6 - precision]);
    }

    /** A DateTime64 of more digits as decimal seconds. */
    public static Decimal fineTime(UTF8String text, UTF8String zone, int precision) {
        FixedTime reader = new FixedTime(text);
        long ticks = reader.readTicks(zone, precision);
        return reader.failed ? null : Decimal.apply(BigDecimal.valueOf(ticks, precision), 24, 9);
    }

    /** Whether a text is a number of seconds beyond the years 0 to 9999. */
    public static boolean isFar(UTF8String text, int precision) {
        FixedTime reader = new FixedTime(text);
        long ticks = reader.readTicks(UTC, precision);
        return !reader.failed && isFar(ticks, precision);
    }

    private static boolean isFar(long ticks, int precision) {
        long scale = POWERS[precision];
        return ticks < FIRST_OF_YEARS * scale || ticks >= END_OF_YEARS * scale;
    }

    private int at(int index) {
        return Platform.getByte(base, start + index);
    }

    private boolean isDigit(int index) {
        int next = at(index);
        return next >= '0' && next <= '9';
    }

    /** The number of so many digits from a place on. */
    private int number(int from, int length) {
        int value = 0;
        for (int i = from; i < from + length; i++) {
            int digit = at(i) - '0';
            if (digit < 0 || digit > 9) {
                failed = true;
            }
            value = value * 10 + digit;
        }
        return value;
    }

    private int readDate() {
        if (size < 8) {
            return Integer.MIN_VALUE;
        }
        int year = number(0, 4);
        place = 4;
        int month;
        int day;
        if (isDigit(4)) {
            month = number(4, 2);
            day = number(6, 2);
            place = 8;
        } else {
            place = 5;
            month = readShort();
            if (place == size || isDigit(place)) {
                return Integer.MIN_VALUE;
            }
            place++;
            day = readShort();
        }
        return failed || !isEndOfDate() ? Integer.MIN_VALUE : dayOf(year, month, day);
    }

    /** A number of one or two digits. */
    private int readShort() {
        if (place == size || !isDigit(place)) {
            failed = true;
            return 0;
        }
        int value = at(place++) - '0';
        return place < size && isDigit(place) ? value * 10 + at(place++) - '0' : value;
    }

    /** What follows a day is ignored if the text is as long as a time, or a fraction follows there. */
    private boolean isEndOfDate() {
        if (place == size) {
            return true;
        }
        if (at(place) != ' ' && at(place) != 'T' || size < TIME_LENGTH) {
            return false;
        }
        if (size == TIME_LENGTH) {
            return true;
        }
        int end = TIME_LENGTH + 1;
        while (end < size && isDigit(end)) {
            end++;
        }
        return at(TIME_LENGTH) == '.' && end == size && end > TIME_LENGTH + 1;
    }

    /** Days since 1970. */
    private static int dayOf(int year, int month, int day) {
        if (month < 1 || month > 12 || day < 1 || day > 31) {
            return FIRST_DAY;
        }
        int shifted = month > 2 ? year : year - 1;
        int century = Math.floorDiv(shifted, 100);
        int ofYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
        return shifted * 365 + Math.floorDiv(shifted, 4) - century + Math.floorDiv(century, 4) + ofYear - 719468;
    }

    /** Seconds since 1970; `failed` where the text begins with no time, else `place` is after it. */
    private long readSecond(UTF8String zone) {
        if (size >= TIME_LENGTH && !isDigit(4)) {
            int separator = at(DATE_LENGTH);
            boolean whole = separator == ' ' || separator == 'T';
            return readClock(whole ? TIME_LENGTH : DATE_LENGTH, zone);
        }
        if (size >= TIME_LENGTH) {
            return readNumber();
        }
        int digits = 0;
        while (digits < size && isDigit(digits)) {
            digits++;
        }
        if (digits == 4 && size >= DATE_LENGTH) {
            return readClock(DATE_LENGTH, zone);
        }
        if (digits < 5) {
            failed = true;
            return 0L;
        }
        return readNumber();
    }

    private long readClock(int length, UTF8String zone) {
        int year = number(0, 4);
        int month = number(5, 2);
        int day = number(8, 2);
        int passed = 0;
        if (length == TIME_LENGTH) {
            passed = number(11, 2) * 3600 + number(14, 2) * 60 + number(17, 2);
        }
        place = length;
        if (failed || year == 0) {
            return 0L;
        }
        // After the years of its table of days, ClickHouse takes the offset of the day that the hours lead to.
        int later = year > LAST_OF_TABLE ? passed / SECONDS_OF_DAY * SECONDS_OF_DAY : 0;
        long midnight = (long) dayOf(year, month, day) * SECONDS_OF_DAY + later;
        return ZoneClock.second(midnight, passed - later, zone);
    }

    private long readNumber() {
        long negated = readNegated();
        failed |= negated == Long.MIN_VALUE;
        return -negated;
    }

    /** The number of the digits here, with a minus before it: so it may have all 64 bits. */
    private long readNegated() {
        isNumber = true;
        long value = 0L;
        while (place < size && isDigit(place)) {
            int digit = at(place++) - '0';
            if (value < (Long.MIN_VALUE + digit) / 10) {
                failed = true;
                return 0L;
            }
            value = value * 10 - digit;
        }
        return value;
    }

    /** The units of a DateTime64 in the text, 0 of an empty one; `failed` where it is no time. */
    private long readTicks(UTF8String zone, int precision) {
        if (size == 0) {
            return 0L;
        }
        long second = readSigned(zone);
        long fraction = 0L;
        if (!failed && place < size && at(place) == '.') {
            fraction = readFraction(precision);
            fraction = isNumber && second < 0 ? -fraction : fraction;
        } else if (isNumber && second >= END_OF_YEARS) {
            failed |= place < size;
            return second;
        }
        long scale = POWERS[precision];
        long ticks = second * scale + fraction;
        failed |= place < size || second > Long.MAX_VALUE / scale || second < Long.MIN_VALUE / scale;
        failed |= second > 0 ? ticks < 0 : second < 0 && ticks > 0;
        return ticks;
    }

    /** As `readSecond`, also with a sign before a number. */
    private long readSigned(UTF8String zone) {
        int sign = at(0);
        if (sign != '-' && sign != '+') {
            return readSecond(zone);
        }
        if (size >= TIME_LENGTH ? !isDigit(4) : sign == '+') {
            failed = true;
            return 0L;
        }
        place = 1;
        return sign == '-' ? readNegated() : readNumber();
    }

    /** The digits after a point, as many as the precision has. */
    private long readFraction(int precision) {
        place++;
        long value = 0L;
        int digits = 0;
        for (; place < size && isDigit(place); place++) {
            if (digits < precision) {
                value = value * 10 + at(place) - '0';
                digits++;
            }
        }
        return value * POWERS[precision - digits];
    }
}
