package penstock;

import java.lang.reflect.Method;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;

/**
 * Static methods as functions of a session, called by the code that Spark generates: the values are Spark's own, none is
 * converted. NULL for NULL; a method that returns an object may return null.
 *
 * scripts/java_jars.py compiles this file into the jar beside it.
 */
public final class StaticFunctions {
    private final FunctionRegistry registry;

    private StaticFunctions(FunctionRegistry registry) {
        this.registry = registry;
    }

    public static void register(SparkSession session) {
        StaticFunctions functions = new StaticFunctions(session.sessionState().functionRegistry());
        functions.addHashes();
        functions.addTimes();
        functions.addTexts();
    }

    private void addTimes() {
        DataType moment = DataTypes.TimestampType;
        DataType decimal = DataTypes.createDecimalType(24, 9);
        add("penstock_time", BestEffortTime.class, "seconds", moment);
        add("penstock_time64", BestEffortTime.class, "microseconds", moment);
        add("penstock_fine_time", BestEffortTime.class, "nanoseconds", decimal);
        add("penstock_lacks_year", BestEffortTime.class, "lacksYear", DataTypes.BooleanType);
        add("penstock_fixed_date", FixedTime.class, "date", DataTypes.DateType);
        add("penstock_fixed_date32", FixedTime.class, "wideDate", DataTypes.DateType);
        add("penstock_fixed_time", FixedTime.class, "time", moment);
        add("penstock_fixed_time64", FixedTime.class, "time64", moment);
        add("penstock_fixed_fine_time", FixedTime.class, "fineTime", decimal);
        add("penstock_is_far_time", FixedTime.class, "isFar", DataTypes.BooleanType);
    }

    private void addTexts() {
        DataType text = DataTypes.StringType;
        add("penstock_unhex", ByteTexts.class, "ofHex", text);
        add("penstock_unbin", ByteTexts.class, "ofBinary", text);
        add("penstock_valid_utf8", ByteTexts.class, "valid", text);
        add("penstock_fixed_point", FixedPoint.class, "halfUp", text);
        add("penstock_even_fixed_point", FixedPoint.class, "halfEven", text);
        add("penstock_netloc", NetworkLocation.class, "of", text);
        add("penstock_damerau", TextDistance.class, "damerauLevenshtein", DataTypes.LongType);
        add("penstock_jaro", TextDistance.class, "jaro", DataTypes.DoubleType);
        add("penstock_jaro_winkler", TextDistance.class, "jaroWinkler", DataTypes.DoubleType);
        add("penstock_initials", Initials.class, "of", text);
        add("penstock_site", Site.class, "of", text);
        add("penstock_source_json", JsonSource.class, "of", text);
        add("penstock_document_letters", JsonLetters.class, "of", text);
        add("penstock_document_numbers", JsonNumbers.class, "of", text);
        add("penstock_document_text", JsonValue.class, "text", text);
        add("penstock_document_integer", JsonValue.class, "integer", DataTypes.LongType);
        add("penstock_document_unsigned", JsonValue.class, "unsigned", DataTypes.createDecimalType(20, 0));
        DataType pair = DataTypes.createStructType(new StructField[] {
            DataTypes.createStructField("key", text, false), DataTypes.createStructField("value", text, false)
        });
        add("penstock_key_values", KeyValuePairs.class, "of", DataTypes.createArrayType(pair, false));
    }

    private void addHashes() {
        DataType number = DataTypes.LongType;
        DataType text = DataTypes.StringType;
        add("penstock_city_hash", CityHash.class, "hash", number);
        add("penstock_city_pair", CityHash.class, "pair", number);
        add("penstock_sip_hash", SipHash.class, "hash", number);
        add("penstock_sip_hash_128", SipHash.class, "longHash", text);
        add("penstock_farm_hash", FarmHash.class, "hash", number);
        add("penstock_farm_fingerprint", FarmHash.class, "fingerprint", number);
        add("penstock_farm_pair", FarmHash.class, "pair", number);
        add("penstock_int_hash", Hashes.class, "ofNumber", number);
        add("penstock_int_hash_32", Hashes.class, "shortOfNumber", number);
        add("penstock_murmur2", Hashes.class, "murmur2", number);
        add("penstock_murmur2_32", Hashes.class, "shortMurmur2", number);
        add("penstock_gcc_murmur", Hashes.class, "gccMurmur", number);
        add("penstock_kafka_murmur", Hashes.class, "kafkaMurmur", number);
        add("penstock_murmur3", Hashes.class, "murmur3", number);
        add("penstock_murmur3_32", Hashes.class, "shortMurmur3", number);
        add("penstock_murmur3_128", Hashes.class, "longMurmur3", text);
        add("penstock_xx_hash", Hashes.class, "xx", number);
        add("penstock_xx_hash_32", Hashes.class, "shortXx", number);
        add("penstock_half_md5", Hashes.class, "halfMd5", number);
        add("penstock_java_hash", Hashes.class, "ofJava", DataTypes.IntegerType);
        add("penstock_bytes", Hashes.class, "bytes", text);
        add("penstock_pair", Hashes.class, "pair", text);
        add("penstock_uuid_bytes", Hashes.class, "bytes", text);
        add("penstock_bits", Hashes.class, "bits", number);
        add("penstock_unsigned", Hashes.class, "unsigned", DataTypes.createDecimalType(20, 0));
    }

    private void add(String name, Class owner, String method, DataType returns) {
        registry.createOrReplaceTempFunction(name, new Call(owner, method, returns), "java_udf");
    }

    /** Makes the call of arguments. */
    private static final class Call extends AbstractFunction1 {
        private static final Seq NO_TYPES = (Seq) scala.collection.immutable.Nil$.MODULE$;

        private final Class owner;
        private final String method;
        private final DataType returns;

        Call(Class owner, String method, DataType returns) {
            this.owner = owner;
            this.method = method;
            this.returns = returns;
        }

        @Override
        public Object apply(Object arguments) {
            boolean mayBeNull = !returnsPrimitive();
            return new StaticInvoke(owner, returns, method, (Seq) arguments, NO_TYPES, true, mayBeNull, true, Option.empty());
        }

        private boolean returnsPrimitive() {
            Method[] methods = owner.getMethods();
            for (int i = 0; i < methods.length; i++) {
                if (methods[i].getName().equals(method)) {
                    return methods[i].getReturnType().isPrimitive();
                }
            }
            throw new IllegalArgumentException(method);
        }
    }
}
