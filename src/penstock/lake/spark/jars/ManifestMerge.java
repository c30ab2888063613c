package penstock;

import java.util.Collection;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * What Iceberg's `RewriteManifests` asks for, to write some manifests anew as one: which they are, and by what their
 * entries are grouped. It names no class of Iceberg, which Spark may load where this class does not see it.
 *
 * scripts/java_jars.py compiles this file into the jar beside it.
 */
public final class ManifestMerge {
    private ManifestMerge() {}

    /** Whether a manifest is one of these: two are equal that have the same path. */
    public static Predicate anyOf(Collection manifests) {
        return new AnyOf(manifests);
    }

    /** Puts every entry into the same group. */
    public static Function together() {
        return new Together();
    }

    private static final class AnyOf implements Predicate {
        private final Set manifests;

        AnyOf(Collection manifests) {
            this.manifests = new HashSet(manifests);
        }

        public boolean test(Object manifest) {
            return manifests.contains(manifest);
        }
    }

    private static final class Together implements Function {
        public Object apply(Object file) {
            return "all";
        }
    }
}
