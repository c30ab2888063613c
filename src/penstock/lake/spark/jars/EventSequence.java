package penstock;

import org.apache.spark.sql.api.java.UDF3;
import scala.collection.Seq;

/**
 * sequenceMatch and sequenceCount over events in the order of time: "match" (0 or 1) or "count" (matches that do not
 * overlap), then the actions of a pattern: `*` any number of events, `.` one event, a number an event that meets this
 * condition, `t<=10` the time since the event before. An event is its moment and a bit for each condition that it
 * meets.
 *
 * As in ClickHouse, a pattern with times is searched by trying, at most a million steps for a match: -1 beyond.
 * scripts/java_jars.py compiles this file into the jar beside it.
 */
public final class EventSequence implements UDF3 {
    private static final int MOST_STEPS = 1000000;
    private static final int ANY = 0;
    private static final int STAR = 1;
    private static final int EVENT = 2;
    private static final int AT_MOST = 3;
    private static final int BEFORE = 4;
    private static final int AT_LEAST = 5;
    private static final int AFTER = 6;
    private static final int AT = 7;

    @Override
    public Object call(Object given, Object moments, Object events) {
        if (moments == null || events == null) {
            return null;
        }
        String[] words = ((String) given).split(" ");
        Search search = new Search(words, longs((Seq) moments), longs((Seq) events));
        long found = words[0].equals("match") ? (search.matches() ? 1L : 0L) : search.count();
        return Long.valueOf(search.givenUp ? -1L : found);
    }

    private static long[] longs(Seq values) {
        long[] found = new long[values.length()];
        for (int i = 0; i < found.length; i++) {
            found[i] = ((Long) values.apply(i)).longValue();
        }
        return found;
    }

    /** One pattern over the events of one group. */
    private static final class Search {
        private final int[] kinds;
        private final long[] extras;
        private final long[] moments;
        private final long[] events;
        private boolean timed;
        private boolean givenUp;
        /** The event after the last match. */
        private int next;
        private int[] stack = new int[48];
        private int depth;
        private int action;
        private int event;
        private int base;

        Search(String[] words, long[] moments, long[] events) {
            this.moments = moments;
            this.events = events;
            this.kinds = new int[words.length - 1];
            this.extras = new long[words.length - 1];
            for (int i = 1; i < words.length; i++) {
                read(words[i], i - 1);
            }
        }

        private void read(String word, int place) {
            char first = word.charAt(0);
            if (first == '.' || first == '*') {
                kinds[place] = first == '.' ? ANY : STAR;
            } else if (first == 't') {
                boolean equal = word.charAt(2) == '=';
                char sign = word.charAt(1);
                kinds[place] = sign == '=' ? AT : sign == '<' ? (equal ? AT_MOST : BEFORE) : equal ? AT_LEAST : AFTER;
                extras[place] = Long.parseLong(word.substring(equal ? 3 : 2));
                timed = true;
            } else {
                kinds[place] = EVENT;
                extras[place] = 1L << (Integer.parseInt(word) - 1);
            }
        }

        /** Whether each condition of the pattern is met by some event. */
        private boolean allMet() {
            long met = 0L;
            long needed = 0L;
            for (int i = 0; i < events.length; i++) {
                met |= events[i];
            }
            for (int i = 0; i < kinds.length; i++) {
                needed |= kinds[i] == EVENT ? extras[i] : 0L;
            }
            return (met & needed) == needed;
        }

        boolean matches() {
            return allMet() && (timed ? tryToMatch() : matchStates());
        }

        long count() {
            long found = 0L;
            if (allMet()) {
                while (next < events.length && tryToMatch()) {
                    found++;
                }
            }
            return found;
        }

        /** Without times: all places of the pattern that can be reached, event by event. */
        private boolean matchStates() {
            boolean[] active = new boolean[kinds.length + 1];
            active[0] = true;
            passStars(active);
            for (int at = 0; at < events.length && !active[kinds.length]; at++) {
                boolean[] then = new boolean[kinds.length + 1];
                for (int i = 0; i < kinds.length; i++) {
                    if (active[i]) {
                        then[i] |= kinds[i] == STAR;
                        then[i + 1] |= kinds[i] == ANY || kinds[i] == EVENT && (events[at] & extras[i]) != 0L;
                    }
                }
                passStars(then);
                active = then;
            }
            return active[kinds.length];
        }

        private void passStars(boolean[] active) {
            for (int i = 0; i < kinds.length; i++) {
                active[i + 1] |= active[i] && kinds[i] == STAR;
            }
        }

        private boolean tryToMatch() {
            int begin = next;
            int steps = 0;
            depth = 0;
            action = 0;
            event = begin;
            base = begin;
            while (action < kinds.length && event < events.length) {
                if (!step()) {
                    break;
                }
                if (++steps > MOST_STEPS) {
                    givenUp = true;
                    return false;
                }
            }
            while (event >= events.length && action < kinds.length && mayBeLast(kinds[action])) {
                action++;
            }
            next = event == begin ? event + 1 : event;
            return action == kinds.length;
        }

        /** What holds where no event is left. */
        private static boolean mayBeLast(int kind) {
            return kind == STAR || kind == AT_MOST || kind == BEFORE;
        }

        /** One action on one event; false if nothing is left to try. */
        private boolean step() {
            int kind = kinds[action];
            if (kind == STAR) {
                remember();
                base = event;
                action++;
                return true;
            }
            if (kind == ANY || kind == EVENT) {
                if (kind == EVENT && (events[event] & extras[action]) == 0L) {
                    return goBack();
                }
                base = event;
                action++;
                event++;
                return true;
            }
            if (inTime(kind)) {
                remember();
                base = event;
                action++;
                return true;
            }
            if (kind == AT_MOST || kind == BEFORE) {
                return goBack();
            }
            event++;
            return event < events.length || goBack();
        }

        private boolean inTime(int kind) {
            int compared = Long.compareUnsigned(moments[event], moments[base] + extras[action]);
            return kind == AT ? compared == 0
                : kind == AT_MOST ? compared <= 0
                : kind == BEFORE ? compared < 0
                : kind == AT_LEAST ? compared >= 0 : compared > 0;
        }

        private void remember() {
            if (depth + 3 > stack.length) {
                int[] larger = new int[stack.length * 2];
                System.arraycopy(stack, 0, larger, 0, depth);
                stack = larger;
            }
            stack[depth++] = action;
            stack[depth++] = event;
            stack[depth++] = base;
        }

        private boolean goBack() {
            while (depth > 0) {
                base = stack[--depth];
                event = stack[--depth] + 1;
                action = stack[--depth];
                if (event < events.length) {
                    return true;
                }
            }
            return false;
        }
    }
}
