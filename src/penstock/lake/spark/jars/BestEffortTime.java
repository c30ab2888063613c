package penstock;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The time that a text of unknown format shows, as ClickHouse's parseDateTimeBestEffort reads it: NULL where that finds
 * none. A text without a year is NULL too, because ClickHouse completes it with the year of the query.
 *
 * Arguments: the text, the time zone of its clock (empty for UTC), and "us" where 2/1 is in February.
 *
 * scripts/java_jars.py compiles this file into the jar beside it.
 */
public final class BestEffortTime {
    private static final long LAST_SECOND = 4294967295L;

    private BestEffortTime() {}

    /** A DateTime as microseconds: whole seconds, the nearest that the type holds. */
    public static Long seconds(UTF8String text, UTF8String zone, UTF8String style) {
        TimeParts parts = new TimeParts(text.getBytes(), isMonthFirst(style), false);
        if (!parts.read() || !parts.hasYear()) {
            return null;
        }
        return Long.valueOf(Math.max(0L, Math.min(secondOf(parts, zone), LAST_SECOND)) * 1000000L);
    }

    /** A DateTime64 as microseconds. */
    public static Long microseconds(UTF8String text, UTF8String zone, UTF8String style) {
        TimeParts parts = new TimeParts(text.getBytes(), isMonthFirst(style), true);
        if (!parts.read() || !parts.hasYear()) {
            return null;
        }
        return Long.valueOf(secondOf(parts, zone) * 1000000L + parts.nanoseconds / 1000);
    }

    /** A DateTime64 as decimal seconds. */
    public static Decimal nanoseconds(UTF8String text, UTF8String zone, UTF8String style) {
        TimeParts parts = new TimeParts(text.getBytes(), isMonthFirst(style), true);
        if (!parts.read() || !parts.hasYear()) {
            return null;
        }
        BigInteger whole = BigInteger.valueOf(secondOf(parts, zone)).multiply(BigInteger.valueOf(1000000000L));
        return Decimal.apply(new BigDecimal(whole.add(BigInteger.valueOf(parts.nanoseconds)), 9), 24, 9);
    }

    /**
     * Whether ClickHouse completes a text with the year of the query, because it shows a day or a time without a year.
     */
    public static boolean lacksYear(UTF8String text, UTF8String style) {
        TimeParts parts = new TimeParts(text.getBytes(), isMonthFirst(style), true);
        return parts.read() && !parts.hasYear();
    }

    private static boolean isMonthFirst(UTF8String style) {
        return style.numBytes() > 0;
    }

    private static long secondOf(TimeParts parts, UTF8String zone) {
        if (parts.unixTime >= 0) {
            return parts.unixTime;
        }
        long midnight = LocalDate.of(parts.year, parts.month, parts.day).toEpochDay() * 86400L;
        int passed = parts.secondOfDay();
        return parts.hasOffset ? midnight + passed - parts.offset() : ZoneClock.second(midnight, passed, zone);
    }
}

/**
 * The parts of a time in a text of unknown format. `read` goes through the text once, as ClickHouse's
 * parseDateTimeBestEffort does: each number is taken for what its length and the parts before it make it. Numbers that
 * are read twice into one part are added in eight bits, as ClickHouse adds them.
 */
final class TimeParts {
    private static final String[] MONTHS = {
        "january", "february", "march", "april", "may", "june",
        "july", "august", "september", "october", "november", "december"
    };
    private static final String[] WEEKDAYS = {
        "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"
    };
    private static final int[] DAYS = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    private static final int LONGEST_NUMBER = 19;
    private static final int BYTE = 255;

    /** Seconds since 1970, where the text is nothing but such a number; else -1. */
    long unixTime = -1;
    int year;
    int month;
    int day;
    int nanoseconds;
    boolean hasOffset;

    private final byte[] text;
    private final boolean monthFirst;
    private final boolean fractions;
    private int place;
    private int start;
    private int hour;
    private int minute;
    private int second;
    private int offsetHours;
    private int offsetMinutes;
    private boolean offsetNegative;
    private boolean hasTime;
    private boolean hasFraction;
    private boolean isMorning;
    private boolean isAfternoon;
    private boolean hasComma;

    TimeParts(byte[] text, boolean monthFirst, boolean fractions) {
        this.text = text;
        this.monthFirst = monthFirst;
        this.fractions = fractions;
    }

    /** Whether the whole text is a time. */
    boolean read() {
        boolean more = true;
        while (more && place < text.length) {
            if ((year != 0) != hasTime && skip(',')) {
                hasComma = true;
                if (place == text.length) {
                    break;
                }
            }
            int length = year == 0 || !hasTime ? readDigits() : 0;
            int step = length > 0 ? readNumber(length) : readOther();
            if (step == FAILED) {
                return false;
            }
            more = step == CONTINUED;
        }
        return place == text.length && (unixTime >= 0 || isComplete());
    }

    private static final int CONTINUED = 0;
    private static final int ENDED = 1;
    private static final int FAILED = 2;

    boolean hasYear() {
        return unixTime >= 0 || year != 0;
    }

    /** Seconds since the beginning of the day, which may be more than it has. */
    int secondOfDay() {
        int hours = hour;
        if (isMorning && hours == 12) {
            hours = 0;
        }
        if (isAfternoon && hours < 12) {
            hours += 12;
        }
        return hours * 3600 + minute * 60 + second;
    }

    /** Seconds ahead of UTC. */
    int offset() {
        int ahead = offsetHours * 3600 + offsetMinutes * 60;
        return offsetNegative ? -ahead : ahead;
    }

    /** Fills in what is missing; whether the day exists (without a year: in some year). */
    private boolean isComplete() {
        if (hasComma && (!hasTime || year == 0 || month == 0 || day == 0)) {
            return false;
        }
        if (year == 0 && month == 0 && day == 0 && !hasTime) {
            return false;
        }
        day = day == 0 ? 1 : day;
        month = month == 0 ? 1 : month;
        if (month > 12 || day > DAYS[month - 1]) {
            return false;
        }
        boolean leap = year % 400 == 0 || (year % 100 != 0 && year % 4 == 0);
        return leap || month != 2 || day <= 28;
    }

    private int readNumber(int length) {
        if (year == 0 && !hasTime) {
            if (length == 9 || length == 10 || length == 13 || length == 16 || length == 19) {
                return readUnixTime(length);
            }
            if (length == 14) {
                readDay();
                readClock(8);
                return CONTINUED;
            }
        }
        if (length == 8 && year == 0) {
            readDay();
            return CONTINUED;
        }
        if (length == 6) {
            return readSixDigits();
        }
        if (length == 4 && year == 0) {
            return readYear();
        }
        return length <= 2 ? readShort(length) : FAILED;
    }

    /** 9 or 10 digits are seconds since 1970, 13 milliseconds, 16 microseconds and 19 nanoseconds. */
    private int readUnixTime(int length) {
        int whole = Math.min(length, 10);
        unixTime = Long.parseLong(new String(text, start, whole, StandardCharsets.US_ASCII));
        if (length > 10) {
            readFraction(start + whole, length - whole);
        } else if (fractions && skip('.')) {
            int count = readDigits();
            readFraction(start, count);
        }
        return ENDED;
    }

    private int readSixDigits() {
        if (year == 0 && month == 0) {
            year = number(0, 4);
            month = number(4, 2);
        } else if (!hasTime) {
            readClock(0);
        } else {
            return FAILED;
        }
        return CONTINUED;
    }

    private void readDay() {
        year = number(0, 4);
        month = add(month, number(4, 2));
        day = add(day, number(6, 2));
    }

    private void readClock(int at) {
        hour = add(hour, number(at, 2));
        minute = add(minute, number(at + 2, 2));
        second = add(second, number(at + 4, 2));
        hasTime = true;
    }

    /**
     * A year, and the month and day that follow it after one same character. After a blank, a number of any other length
     * is left out.
     */
    private int readYear() {
        year = number(0, 4);
        if (place == text.length) {
            return CONTINUED;
        }
        char delimiter = at(place);
        if (delimiter < ' ' || delimiter > 127 || ",;'\"".indexOf(delimiter) >= 0) {
            return ENDED;
        }
        if (month != 0) {
            return CONTINUED;
        }
        place++;
        int length = readDigits();
        if (length != 1 && length != 2) {
            return delimiter == ' ' ? CONTINUED : FAILED;
        }
        month = number(0, length);
        if (day == 0 && skip(delimiter)) {
            length = readDigits();
            if (length != 1 && length != 2) {
                return delimiter == ' ' ? CONTINUED : FAILED;
            }
            day = number(0, length);
        }
        return CONTINUED;
    }

    /** One or two digits: of a clock before a colon, of a date before its dividers, else an hour or a day. */
    private int readShort(int length) {
        int value = number(0, length);
        if (skip(':')) {
            return readMinutes(value);
        }
        if (skip(',')) {
            day = month != 0 && day == 0 ? value : day;
        } else if (skipDivider()) {
            return readDate(value);
        } else if (day != 0) {
            hour = value;
        } else {
            day = value;
        }
        return CONTINUED;
    }

    private int readMinutes(int value) {
        if (hasTime) {
            return FAILED;
        }
        hour = value;
        hasTime = true;
        int length = readDigits();
        if (length != 1 && length != 2) {
            return FAILED;
        }
        minute = add(minute, number(0, length));
        if (skip(':')) {
            length = readDigits();
            if (length != 1 && length != 2) {
                return FAILED;
            }
            second = add(second, number(0, length));
        }
        return CONTINUED;
    }

    /** What follows a day (or a month) and its divider: a month (or a day), and perhaps a year. */
    private int readDate(int first) {
        if (day != 0 || month != 0) {
            return FAILED;
        }
        int length = readDigits();
        if (length == 1 || length == 2) {
            month = monthFirst ? first : number(0, length);
            day = monthFirst ? number(0, length) : first;
        } else if (length == 0 && !monthFirst) {
            day = first;
            month = indexOf(MONTHS, readLetters(9));
            if (month == 0 || isLetter()) {
                return FAILED;
            }
        } else {
            return FAILED;
        }
        if (month > 12) {
            int swapped = month;
            month = day;
            day = swapped;
        }
        return skipDivider() ? readYearOfDate() : CONTINUED;
    }

    private int readYearOfDate() {
        if (year != 0) {
            return FAILED;
        }
        int length = readDigits();
        if (length == 4) {
            year = number(0, 4);
        } else if (length == 2) {
            int value = number(0, 2);
            year = value >= 70 ? value + 1900 : value + 2000;
        } else {
            return FAILED;
        }
        return CONTINUED;
    }

    /** Anything but a number that is read as a part of the date or the clock. */
    private int readOther() {
        char next = at(place);
        if (next == ' ' || (next == 'T' && !hasTime && (year != 0 || isYearZero()))) {
            place++;
            return CONTINUED;
        }
        if (skip('Z')) {
            hasOffset = true;
            return CONTINUED;
        }
        if (skip('.')) {
            if (!hasTime || hasFraction) {
                return FAILED;
            }
            hasFraction = true;
            int count = readDigits();
            readFraction(start, count);
            return CONTINUED;
        }
        if (next == '+' || next == '-') {
            place++;
            return readOffset(next == '-');
        }
        return readWord();
    }

    /** A whole day of the year 0, which is no year for ClickHouse. */
    private boolean isYearZero() {
        return place == 10 && at(0) == '0' && at(1) == '0' && at(2) == '0' && at(3) == '0' && at(4) == '-';
    }

    /** Hours, or hours and minutes, ahead of UTC; after a whole day also six digits of a clock. */
    private int readOffset(boolean negative) {
        int length = readDigits();
        if (length == 6 && !hasTime && year != 0 && month != 0 && day != 0) {
            readClock(0);
            return CONTINUED;
        }
        if (length == 0 || length > 4) {
            return FAILED;
        }
        hasOffset = true;
        offsetNegative |= negative;
        int hours = length == 4 || length == 2 ? 2 : 1;
        offsetHours = add(offsetHours, number(0, hours));
        if (length > 2) {
            offsetMinutes = add(offsetMinutes, number(hours, 2));
        } else if (skip(':')) {
            length = readDigits();
            if (length != 1 && length != 2) {
                return FAILED;
            }
            offsetMinutes = add(offsetMinutes, number(0, length));
        }
        return CONTINUED;
    }

    private int readWord() {
        String word = readLetters(10);
        if (word.isEmpty()) {
            return ENDED;
        }
        if (isLetter()) {
            return FAILED;
        }
        int named = indexOf(MONTHS, word);
        if (named != 0) {
            month = named;
        } else if (indexOf(WEEKDAYS, word) != 0) {
            skip(',');
        } else if (word.equals("am")) {
            isMorning = true;
        } else if (word.equals("pm")) {
            isAfternoon = true;
        } else if (word.equals("utc") || word.equals("gmt")) {
            hasOffset = true;
        } else if (word.equals("msk") || word.equals("msd")) {
            hasOffset = true;
            offsetHours = word.equals("msk") ? 3 : 4;
        } else {
            return FAILED;
        }
        return CONTINUED;
    }

    /** From 1 on, the place of the name that a word is, or is the first three letters of; 0 if there is none. */
    private static int indexOf(String[] names, String word) {
        for (int i = 0; i < names.length; i++) {
            if (word.equals(names[i]) || (word.length() == 3 && names[i].startsWith(word))) {
                return i + 1;
            }
        }
        return 0;
    }

    private void readFraction(int from, int count) {
        if (!fractions) {
            return;
        }
        nanoseconds = 0;
        for (int i = 0; i < 9; i++) {
            nanoseconds = nanoseconds * 10 + (i < count ? at(from + i) - '0' : 0);
        }
    }

    /** The digits from here on, whose first one is then at `start`; how many there are. */
    private int readDigits() {
        start = place;
        int end = Math.min(text.length, start + LONGEST_NUMBER);
        while (place < end && at(place) >= '0' && at(place) <= '9') {
            place++;
        }
        return place - start;
    }

    private int number(int from, int length) {
        int value = 0;
        for (int i = start + from; i < start + from + length; i++) {
            value = value * 10 + at(i) - '0';
        }
        return value;
    }

    private static int add(int part, int value) {
        return (part + value) & BYTE;
    }

    private char at(int index) {
        return (char) (text[index] & BYTE);
    }

    private boolean isLetter() {
        if (place == text.length) {
            return false;
        }
        char next = at(place);
        return (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z');
    }

    /** The letters from here on in lower case, at most `most`. */
    private String readLetters(int most) {
        StringBuilder word = new StringBuilder();
        while (word.length() < most && isLetter()) {
            word.append((char) (at(place) | 32));
            place++;
        }
        return word.toString();
    }

    private boolean skip(char wanted) {
        if (place == text.length || at(place) != wanted) {
            return false;
        }
        place++;
        return true;
    }

    private boolean skipDivider() {
        return skip('/') || skip('.') || skip('-');
    }
}
