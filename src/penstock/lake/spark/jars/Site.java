package penstock;

import java.nio.charset.StandardCharsets;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The part of a domain that somebody registered, as ClickHouse's cutToFirstSignificantSubdomain gives it: three labels if
 * the last two are a public suffix, otherwise two. Nothing if the first of them is empty.
 *
 * scripts/java_jars.py compiles this file into the jar beside it.
 */
public final class Site {
    private Site() {}

    public static UTF8String of(UTF8String domain) {
        byte[] bytes = domain.getBytes();
        int last = dotBefore(bytes, bytes.length);
        int second = dotBefore(bytes, last);
        int third = dotBefore(bytes, second);
        if (second < 0) {
            return isEmptyLabel(bytes, 0) ? UTF8String.EMPTY_UTF8 : domain;
        }
        String ending = new String(bytes, second + 1, bytes.length - second - 1, StandardCharsets.UTF_8);
        int start = (PublicSuffixes.contains(ending) ? third : second) + 1;
        return isEmptyLabel(bytes, start)
            ? UTF8String.EMPTY_UTF8
            : UTF8String.fromBytes(bytes, start, bytes.length - start);
    }

    /** The place of the last dot before a place; -1 if there is none. */
    private static int dotBefore(byte[] bytes, int end) {
        int at = end - 1;
        while (at >= 0 && bytes[at] != '.') {
            at--;
        }
        return at;
    }

    private static boolean isEmptyLabel(byte[] bytes, int start) {
        return start >= bytes.length || bytes[start] == '.';
    }
}
