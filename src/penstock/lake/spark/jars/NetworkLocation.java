package penstock;

import org.apache.spark.unsafe.types.UTF8String;

/**
 * The part of a URL between its scheme and its path, as ClickHouse's netloc gives it: user, host and port. Some signs end
 * a host, and some of them a user, too; without a user, the host ends at the last slash before such a sign.
 *
 * scripts/java_jars.py compiles this file into the jar beside it.
 */
public final class NetworkLocation {
    private static final int LONGEST_SCHEME = 16;
    private static final String NEVER = " \t<>{}|\\^[]";
    private static final String ONLY_IN_USER = ";=&~%";

    private NetworkLocation() {}

    public static UTF8String of(UTF8String url) {
        byte[] bytes = url.getBytes();
        int start = afterScheme(bytes);
        int end = start < 0 ? -1 : end(bytes, start);
        return end <= start ? UTF8String.EMPTY_UTF8 : UTF8String.fromBytes(bytes, start, end - start);
    }

    /** Where the scheme ends; -1 if there is a sign in it that no URL has. */
    private static int afterScheme(byte[] bytes) {
        if (bytes.length > 2 && bytes[0] == '/' && bytes[1] == '/') {
            return 2;
        }
        int last = Math.min(bytes.length, LONGEST_SCHEME);
        int at = 1;
        while (at < last && isOfScheme(bytes[at])) {
            at++;
        }
        if (at < last && (NEVER.indexOf(bytes[at]) >= 0 || ONLY_IN_USER.indexOf(bytes[at]) >= 0)) {
            return -1;
        }
        return at + 2 < last && bytes[at] == ':' && bytes[at + 1] == '/' && bytes[at + 2] == '/' ? at + 3 : 0;
    }

    private static boolean isOfScheme(byte sign) {
        boolean letter = (sign >= 'a' && sign <= 'z') || (sign >= 'A' && sign <= 'Z') || (sign >= '0' && sign <= '9');
        return letter || sign == '.' || sign == '-' || sign == '+';
    }

    private static int end(byte[] bytes, int start) {
        boolean user = false;
        int host = bytes.length;
        int slash = bytes.length;
        int question = bytes.length;
        for (int at = start; at < bytes.length; at++) {
            byte sign = bytes[at];
            if (sign == '#' || (user && (sign == '/' || sign == '?'))) {
                return at;
            }
            if (sign == '/') {
                slash = at;
            } else if (sign == '?') {
                question = at;
            } else if (sign == '@') {
                user = true;
                host = bytes.length;
            } else if (!user && ONLY_IN_USER.indexOf(sign) >= 0) {
                host = at;
            } else if (NEVER.indexOf(sign) >= 0 || ONLY_IN_USER.indexOf(sign) >= 0) {
                return Math.min(at, Math.min(slash, question));
            }
        }
        return user ? bytes.length : Math.min(host, Math.min(slash, question));
    }
}
