package penstock;

import org.apache.spark.unsafe.types.UTF8String;

/**
 * How near two texts are, by their bytes: the steps from one to the other (a transposition is one), and the similarities
 * of Jaro and Winkler, from 0 to 1, with the operations in ClickHouse's order, so that no digit differs. Of an empty
 * text ClickHouse gives the length of the other as its similarity, too.
 *
 * scripts/java_jars.py compiles this file into the jar beside it.
 */
public final class TextDistance {
    private static final int LONGEST = 65536;

    private TextDistance() {}

    public static long damerauLevenshtein(UTF8String left, UTF8String right) {
        byte[] a = bytes(left);
        byte[] b = bytes(right);
        int[] before = new int[b.length + 1];
        int[] last = new int[b.length + 1];
        int[] row = new int[b.length + 1];
        for (int j = 0; j <= b.length; j++) {
            row[j] = j;
        }
        for (int i = 1; i <= a.length; i++) {
            int[] free = before;
            before = last;
            last = row;
            row = free;
            row[0] = i;
            for (int j = 1; j <= b.length; j++) {
                int replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
                row[j] = Math.min(Math.min(last[j] + 1, row[j - 1] + 1), replaced);
                if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                    row[j] = Math.min(row[j], before[j - 2] + 1);
                }
            }
        }
        return row[b.length];
    }

    public static double jaro(UTF8String left, UTF8String right) {
        return jaro(bytes(left), bytes(right));
    }

    public static double jaroWinkler(UTF8String left, UTF8String right) {
        byte[] a = bytes(left);
        byte[] b = bytes(right);
        double found = jaro(a, b);
        if (a.length == 0 || b.length == 0 || !(found > 0.7)) {
            return found;
        }
        int longest = Math.min(4, Math.min(a.length, b.length));
        int common = 0;
        while (common < longest && a[common] == b[common]) {
            common++;
        }
        return found + common * 0.1 * (1.0 - found);
    }

    private static byte[] bytes(UTF8String text) {
        if (text.numBytes() > LONGEST) {
            throw new IllegalArgumentException("a text of more than 65536 bytes is too long for a distance");
        }
        return text.getBytes();
    }

    private static double jaro(byte[] a, byte[] b) {
        if (a.length == 0 || b.length == 0) {
            return a.length + b.length;
        }
        if (java.util.Arrays.equals(a, b)) {
            return 1.0;
        }
        boolean[] ofA = new boolean[a.length];
        boolean[] ofB = new boolean[b.length];
        int matches = matches(a, b, ofA, ofB);
        if (matches == 0) {
            return 0.0;
        }
        double m = matches;
        double moved = halfTranspositions(a, b, ofA, ofB) * 0.5;
        return 1.0 / 3.0 * (m / a.length + m / b.length + (m - moved) / m);
    }

    /** How many bytes have an equal one near their place; each is marked, with the first that it may take. */
    private static int matches(byte[] a, byte[] b, boolean[] ofA, boolean[] ofB) {
        int range = Math.max(0, Math.max(a.length, b.length) / 2 - 1);
        int found = 0;
        for (int i = 0; i < a.length; i++) {
            int end = Math.min(b.length, i + range + 1);
            for (int j = Math.max(0, i - range); j < end && !ofA[i]; j++) {
                if (!ofB[j] && a[i] == b[j]) {
                    ofA[i] = true;
                    ofB[j] = true;
                    found++;
                }
            }
        }
        return found;
    }

    private static int halfTranspositions(byte[] a, byte[] b, boolean[] ofA, boolean[] ofB) {
        int found = 0;
        int j = 0;
        for (int i = 0; i < a.length; i++) {
            if (ofA[i]) {
                while (!ofB[j]) {
                    j++;
                }
                if (a[i] != b[j++]) {
                    found++;
                }
            }
        }
        return found;
    }
}
