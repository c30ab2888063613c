package penstock;

import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.zone.ZoneOffsetTransition;
import java.time.zone.ZoneRules;
import java.util.concurrent.atomic.AtomicLongArray;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The second that a clock of a time zone shows, as ClickHouse finds it. Days on which the clock does not change are
 * remembered, each as its number and its offset.
 *
 * scripts/java_jars.py compiles this file into the jar beside it.
 */
final class ZoneClock {
    private static final int SECONDS_OF_DAY = 86400;
    private static final int REMEMBERED = 4096;
    private static final int OFFSET_BITS = 20;
    private static final int OFFSET_MASK = (1 << OFFSET_BITS) - 1;
    private static volatile ZoneClock last = new ZoneClock(UTF8String.fromString("UTC"));

    private final UTF8String zone;
    private final ZoneRules rules;
    private final AtomicLongArray days = new AtomicLongArray(REMEMBERED);

    private ZoneClock(UTF8String zone) {
        this.zone = zone;
        this.rules = ZoneId.of(zone.toString()).getRules();
        for (int i = 0; i < REMEMBERED; i++) {
            days.lazySet(i, Long.MIN_VALUE);
        }
    }

    /**
     * Seconds since 1970 of a clock that shows a day's midnight (a multiple of 86400) and the seconds after it. An empty
     * zone is UTC.
     */
    static long second(long midnight, int passed, UTF8String zone) {
        if (zone.numBytes() == 0) {
            return midnight + passed;
        }
        ZoneClock clock = last;
        if (clock.zone != zone && !clock.zone.equals(zone)) {
            clock = new ZoneClock(zone.copy());
            last = clock;
        }
        return midnight + passed - clock.offset(midnight, passed);
    }

    private int offset(long midnight, int passed) {
        long day = midnight / SECONDS_OF_DAY;
        int place = (int) (day & (REMEMBERED - 1));
        long known = days.get(place);
        if (known >> OFFSET_BITS == day) {
            return (int) (known & OFFSET_MASK) - SECONDS_OF_DAY;
        }
        if (changesNear(midnight)) {
            return offsetAt(midnight + Math.min(passed, SECONDS_OF_DAY - 1));
        }
        int offset = offsetAt(midnight);
        days.lazySet(place, day << OFFSET_BITS | (offset + SECONDS_OF_DAY));
        return offset;
    }

    private boolean changesNear(long midnight) {
        ZoneOffsetTransition next = rules.nextTransition(Instant.ofEpochSecond(midnight - 2 * SECONDS_OF_DAY));
        return next != null && next.toEpochSecond() < midnight + 3 * SECONDS_OF_DAY;
    }

    /** Of a time that the change to summer time skips, the offset after it. */
    private int offsetAt(long wall) {
        LocalDateTime shown = LocalDateTime.ofEpochSecond(wall, 0, ZoneOffset.UTC);
        ZoneOffsetTransition change = rules.getTransition(shown);
        if (change != null && change.isGap()) {
            return change.getOffsetAfter().getTotalSeconds();
        }
        return rules.getOffset(shown).getTotalSeconds();
    }
}
