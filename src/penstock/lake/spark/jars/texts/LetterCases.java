package penstock;

/**
 * The letters of ClickHouse's initcapUTF8: which letter each becomes, at the beginning of a word and inside of one, and
 * whether the next one is inside of a word. As numbers of base 36.
 *
 * scripts/letter_cases.py writes this file.
 */
public final class LetterCases {
    private LetterCases() {}

    /** By rows of: code, how many, step, what is added. Each code counts from the one before it. */
    public static final String FIRST_CASES =
        "2p q 1 -w 2c 1 1 lj 17 n 1 -w o 7 1 -w 7 1 1 3d 2 o 2 -1 1e 3 2 -1 7 8 2 -1 h n 2 -1 1b 3 2 -1 6 1 1"
        + " 5f 3 2 2 -1 5 1 1 -1 4 1 1 -1 6 1 1 -1 3 1 1 2p 4 1 1 -1 1 1 1 4j 4 1 1 3m 3 3 2 -1 7 1 1 -1 5 1 1 "
        + "-1 3 1 1 -1 4 2 2 -1 5 1 1 -1 4 1 1 -1 2 1 1 1k 7 1 1 -2 3 1 1 -2 3 1 1 -2 2 8 2 -1 f 1 1 -27 2 9 2 "
        + "-1 k 1 1 -2 2 1 1 -1 4 k 2 -1 16 9 2 -1 p 1 1 -1 6 1 1 -1 5 5 2 -1 c 1 1 -5u 1 1 1 -5q 2 2 1 -5p 3 1"
        + " 1 -5m 2 1 1 -5n 5 1 1 -5p 3 1 1 -5r 5 1 1 -5t 1 1 1 -5v 6 1 1 -5v 3 1 1 -5x 3 1 1 -5y b 1 1 -62 3 1"
        + " 1 -62 5 1 1 -62 1 1 1 -1x 1 2 1 -61 2 1 1 -1z 6 1 1 -63 67 2 2 -1 6 1 1 -1 4 3 1 3m 1d 1 1 -12 1 3 "
        + "1 -11 4 8 1 -w 8 1 1 -38 1 2 1 -w 2 1 1 -lj 1 5 1 -w 5 1 1 1 1 9 1 -w 9 1 1 -1s 1 2 1 -1r 3 1 1 -u 1"
        + " 1 1 -p 4 1 1 -f 1 1 1 -m 1 1 1 -8 2 c 2 -1 n 1 1 -1i 1 1 1 -1c 1 1 1 7 1 1 1 -38 2 1 1 -1s 3 1 1 -1"
        + " 3 1 1 -1 1h w 1 -w w g 1 -28 h h 2 -1 16 r 2 -1 1j 7 2 -1 d 1 1 -f 2 1c 2 -1 40 12 1 -1c 4rc 1 1 r9"
        + "g 4 1 1 2xy 3o 23 2 -1 4a 1 1 -1m 6 1c 2 -1 2n 8 1 8 g 6 1 8 g 8 1 8 g 8 1 8 g 6 1 8 h 4 2 8 f 8 1 8"
        + " g 2 1 22 2 4 1 2e 4 2 1 2s 2 2 1 3k 2 2 1 34 2 2 1 3i 4 8 1 8 g 8 1 8 g 8 1 8 g 2 1 8 3 1 1 9 g 1 1"
        + " 9 d 2 1 8 g 2 1 8 5 1 1 7 e 1 1 9 9n 1 1 -s 1i 1 1 -1 23w 1b 1 -1c 1d 1 1 -1 7 3 2 -1 b 1 1 -1 3 1 "
        + "1 -1 b 1e 2 -1 2z 2 2 -1 7 1 1 -1 d 12 1 -5ls 13 1 1 -5ls 6 1 1 -5ls nx0 n 2 -1 1s e 2 -1 4i 7 2 -1 "
        + "g v 2 -1 1z 2 2 -1 5 5 2 -1 d 1 1 -1 5 2 2 -1 6 a 2 -1 hbe q 1 -w yv 14 1 -14 42g w 1 -w";

    /** By rows of: code, how many, step, what is added. Each code counts from the one before it. */
    public static final String INSIDE_CASES =
        "1t q 1 w 3j n 1 w o 7 1 w 14 o 2 1 1e 3 2 1 7 8 2 1 h n 2 1 1a 1 1 -3d 1 3 2 1 8 1 1 5u 1 2 2 1 4 1 "
        + "1 5q 1 1 1 1 2 2 1 5p 2 1 1 1 3 1 1 27 1 1 1 5m 1 1 1 5n 1 1 1 1 2 1 1 5p 1 1 1 5r 2 1 1 5v 1 1 1 5t"
        + " 1 1 1 1 4 1 1 5v 1 1 1 5x 2 1 1 5y 1 3 2 1 6 1 1 62 1 1 1 1 2 1 1 62 3 1 1 1 2 1 1 62 1 1 1 1 2 2 1"
        + " 61 2 2 2 1 4 1 1 63 1 1 1 1 4 1 1 1 8 1 1 2 3 1 1 2 3 1 1 2 3 8 2 1 h 9 2 1 j 1 1 2 3 1 1 1 2 1 1 -"
        + "2p 1 1 1 -1k 1 k 2 1 14 1 1 -3m 2 9 2 1 p 1 1 1 2 1 1 -4j 4 1 1 1 2 1 1 -5f 1 1 1 1x 1 1 1 1z 1 5 2 "
        + "1 8a 2 2 1 6 1 1 1 9 1 1 38 7 1 1 12 2 3 1 11 4 1 1 1s 2 2 1 1r 3 h 1 w i 9 1 w 18 1 1 8 9 c 2 1 s 1"
        + " 1 -1o 3 1 1 1 2 1 1 -7 1 1 1 1 3 3 1 -3m 3 g 1 28 g w 1 w 28 h 2 1 16 r 2 1 1i 1 1 f 1 7 2 1 f 1c 2"
        + " 1 2p 12 1 1c 29b 12 1 5ls 13 1 1 5ls 6 1 1 5ls 2lv 23 2 1 4g 1c 2 1 2w 8 1 -8 g 6 1 -8 g 8 1 -8 g 8"
        + " 1 -8 g 6 1 -8 h 4 2 -8 f 8 1 -8 28 2 1 -8 2 2 1 -22 e 4 1 -2e g 2 1 -8 2 2 1 -2s e 2 1 -8 2 2 1 -34"
        + " 2 1 1 -7 c 2 1 -3k 2 2 1 -3i 8o 1 1 s 29 1 1 1 22l 1b 1 1c 2o 1 1 1 3 1 1 -2xy 4 3 2 1 b 1 1 1 3 1 "
        + "1 1 b 1e 2 1 2z 2 2 1 7 1 1 1 nym n 2 1 1s e 2 1 4i 7 2 1 g v 2 1 1z 2 2 1 4 1 1 -r9g 1 5 2 1 d 1 1 "
        + "1 5 2 2 1 6 a 2 1 haj q 1 w yn 14 1 14 42o w 1 w";

    /** By rows of: code, how many. Each code counts from the one before it. */
    public static final String GOES_ON_FIRST =
        "1c a h q w q 21 1 8 2 3 1 4 2 3 3 4 n o 7 8 n o 3r 3s 5b 5d f i 9 a 4 5 3 5 4 6 4 5 b c 9 a m n z 13"
        + " c q 5 c 1 2 1 3m 5 6 2 4 4 5 1 7 1 2 3 4 1 2 k l 2b 2c 3v 43 4m 4n 12 14 1 8 13 33 r w 3 1c 17 1s a"
        + " e 2 3 2r 2s 1 g 2 9 f h 1 h 1 2 u 1n 2h 2s 1 f 17 1g 2 6 1 6 m q 1 a 1 4 1 o p 2o j 2s 1i 1l 1 j 1 "
        + "8 a e a b g k 8 a 2 4 m n 7 8 1 4 4 7 1 h 1 e 2 3 3 7 c e 6 h 6 a 2 4 m n 7 8 2 3 2 3 2 x 4 5 1 8 a "
        + "c 3 j 9 a 3 4 m n 7 8 2 3 5 8 1 j 1 g 2 6 a v 8 a 2 4 m n 7 8 2 3 5 8 1 v 2 3 3 7 a b 7 i 1 2 6 9 3 "
        + "4 4 7 2 3 1 2 2 5 2 5 3 6 c y 1 m d v 8 9 3 4 n o g j 1 r 2 8 2 6 a i 7 d 8 9 3 4 n o a b 5 8 1 x 1 "
        + "2 2 6 a b 2 k 8 9 3 4 15 17 1 h 1 i 2 6 g k 6 b i l o p 9 a 1 3 7 12 a r 1c 1d 2 e 7 g a 1d 2 3 1 3 "
        + "2 3 1 3 1 7 4 5 7 8 3 4 1 2 1 3 2 3 4 5 2 b 1 3 5 6 1 a a c 4 10 1 w k w 8 9 10 1r 5 3c 17 1r b h 6 "
        + "a 4 7 1 4 2 9 3 7 d p 1 2 a g 12 13 1 6 1 3 17 18 99 9a 4 6 7 8 1 2 4 6 15 16 4 6 x y 4 6 7 8 1 2 4 "
        + "6 f g 1l 1m 4 6 1v 29 k n g w 2d 2p h8 ha h i q v 23 26 b i d e 4 i i w i w d e 3 i 1g 2f 1 5 1 4 a "
        + "g a w a g 2g 2o 15 16 1 6 1y 28 v 1y 14 16 5 g 18 1t 7 f b 1c n w 1h 2o a g a n 1 2m 1b 1s 7 b a 1f "
        + "u 17 1k 2a 10 1s a d 1d 4c 4 5 4 7 2 b 5c 74 7q 7s 6 8 12 14 6 8 8 9 1 2 1 2 1 2 v x 1h 1i 7 c 3 4 7"
        + " a 4 6 6 a d i 3 4 7 3e 2 4 6 b b h d 36 1 5 1 3 a b 1 4 5 b 1 2 1 2 1 2 4 5 b d 4 9 5 9 1 2 1m ls 1"
        + "o 3u m i4 u wa 1b 1c 1b 1c 5 7 3i 3o 4 7 2 b 1 3 12 13 1 6 1 3 1k 1r 1 h n w 7 8 7 8 7 8 7 8 7 8 7 8"
        + " 7 8 7 2f 1 d2 3 s 9 g 5 7 5 9 2e 2k 3 4 2i 2j 4 9 15 18 2m 2p 4 e r 28 g 1c a 14 8 9 f 1b a 1d f 9b"
        + " 52u 54w g5p g74 wd y8 1a 1c 7h 7k s 1c 1b 1r v x 28 3b 9 b 2v 2x 4 5 u w 2 1z b c 3 4 4 5 n 10 6 g "
        + "1g 1u 1e 26 a y 6 9 1 5 12 1c n 1c t 10 1b 23 b h 5 6 p q 15 1s 3 4 8 c a g n q 1 4 1e 1f 1 4 2 4 5 "
        + "7 1 2 1 p 3 5 b i 3 f 6 8 6 8 6 f 7 8 7 8 17 18 4 8 2 2k z 1c a g 8mc 8mo n r 1d 6k5 a6 a8 2y 40 7 j"
        + " 5 a 1 2 a b d e 5 6 1 2 2 3 2 3 30 3x a3 al 1s 1u 1i 2m c 3k 5 6 3r 4a a h q w q 11 2h 2k 6 8 6 8 6"
        + " 8 3 12 c d q r j k 2 3 f h e 1c 3f 3r 19 1l 1l 22 2 6u t w 1d 1t r v 10 1c r w 12 1c u w 10 14 8 9 "
        + "5 1b 4e 4g a 2o 14 1c 1g 5s 8n 8w m w 8 4g 6 8 1 2 18 19 2 5 1 3 n p v x 12 1a 9 2h s w q 2o 1k 1q 2"
        + " 1u 1 g 4 5 3 4 r 13 8 w v w w 1s 8 9 s y 5 l 1i 1s m o r w q 1d 7 2f 21 gw v bn 1h 27 u 1d 19 25 p "
        + "w a j 10 1f a q z 12 1 d 1c 1q 4 f b h k v i j p 4d 1b 1s a l 8 a 2 4 m n 7 8 2 3 5 8 1 w 5 83 1c 1w"
        + " 2 3 1 9 a 4w 1b 3k 1c 1w 1 c a 1c 17 1s a dc 2b 2n 1 ch 1l 11c pl sg 33 2dc tr b28 ft g0 v w a 34 u"
        + " 1c 1c 1s 4 g a b 7 8 l q j oz 1x 28 1 1v d cq5 2 2dc 2z 34 d g 9 g a 4i8 i 4g 2d 2e 1z 20 2 4 1 3 2"
        + " 4 4 5 c d 1 2 7 8 1t 1u 4 6 8 9 7 8 s t 4 5 5 6 1 4 7 8 9g 9i p q p q v w p q v w p q v w p q v w p"
        + " q 8 a 1e 376 5h 5j 9 115 4 5 r s 2 3 1 3 1 2 a b 4 5 1 2 1 7 1 5 1 2 1 2 1 2 3 4 2 3 1 3 1 2 1 2 1 "
        + "2 1 2 1 2 2 3 1 3 4 5 7 8 4 5 4 5 1 2 a b h m 3 4 5 6 h gl d 2yo wyf wzk 379 37k 66 csg f2";

    /** By rows of: code, how many. Each code counts from the one before it. */
    public static final String GOES_ON_INSIDE =
        "1c a h q w q 21 1 8 2 3 1 4 2 3 3 4 n o v w 8y 8z 3 4 3n 3r c q 5 c 1 2 1 3m 5 6 2 4 4 5 1 7 1 2 3 4"
        + " 1 2 k l 2b 2c 3v 43 4m 4n 12 14 1 8 13 33 r w 3 1c 17 1s a e 2 3 2r 2s 1 g 2 9 f h 1 h 1 2 u 1n 2h "
        + "2s 1 f 17 1g 2 6 1 6 m q 1 a 1 4 1 o p 2o j 2s 1i 1l 1 j 1 8 a e a b g k 8 a 2 4 m n 7 8 1 4 4 7 1 h"
        + " 1 e 2 3 3 7 c e 6 h 6 a 2 4 m n 7 8 2 3 2 3 2 x 4 5 1 8 a c 3 j 9 a 3 4 m n 7 8 2 3 5 8 1 j 1 g 2 6"
        + " a v 8 a 2 4 m n 7 8 2 3 5 8 1 v 2 3 3 7 a b 7 i 1 2 6 9 3 4 4 7 2 3 1 2 2 5 2 5 3 6 c y 1 m d v 8 9"
        + " 3 4 n o g j 1 r 2 8 2 6 a i 7 d 8 9 3 4 n o a b 5 8 1 x 1 2 2 6 a b 2 k 8 9 3 4 15 17 1 h 1 i 2 6 g"
        + " k 6 b i l o p 9 a 1 3 7 12 a r 1c 1d 2 e 7 g a 1d 2 3 1 3 2 3 1 3 1 7 4 5 7 8 3 4 1 2 1 3 2 3 4 5 2"
        + " b 1 3 5 6 1 a a c 4 10 1 w k w 8 9 10 1r 5 3c 17 1r b h 6 a 4 7 1 4 2 9 3 7 d p 1 2 a g 12 13 1 6 1"
        + " 3 17 18 99 9a 4 6 7 8 1 2 4 6 15 16 4 6 x y 4 6 7 8 1 2 4 6 f g 1l 1m 4 6 1v 29 k n g w 2d 2p h8 ha"
        + " h i q v 23 26 b i d e 4 i i w i w d e 3 i 1g 2f 1 5 1 4 a g a w a g 2g 2o 15 16 1 6 1y 28 v 1y 14 1"
        + "6 5 g 18 1t 7 f b 1c n w 1h 2o a g a n 1 2m 1b 1s 7 b a 1f u 17 1k 2a 10 1s a d 1d 4c 4 5 4 7 2 b 5c"
        + " 74 4e 4f 3b 3d 6 8 12 14 6 8 8 9 1 2 1 2 1 2 v x 1h 1i 7 8 1 4 3 4 7 a 4 6 6 a d i 3 4 7 3e 2 4 6 b"
        + " b h d 36 1 5 1 3 a b 1 4 5 b 1 4 1 4 2 3 b d 4 9 5 9 1 2 1m ls 1o 3u m i4 u wa 1b 1c 1b 1c 2 3 1 2 "
        + "8 c d f 2t 2z 4 7 2 b 1 3 12 13 1 6 1 3 1k 1r 1 h n w 7 8 7 8 7 8 7 8 7 8 7 8 7 8 7 2f 1 d2 3 s 9 g "
        + "5 7 5 9 2e 2k 3 4 2i 2j 4 9 15 18 2m 2p 4 e r 28 g 1c a 14 8 9 f 1b a 1d f 9b 52u 54w g5p g74 wd y8 "
        + "1a 1c 7h 7k s 1c 1b 1r v x 28 3b 9 b 2v 2x 2 3 1 2 q 2v b c 3 4 4 5 n 10 6 g 1g 1u 1e 26 a y 6 9 1 5"
        + " 12 1c n 1c t 10 1b 23 b h 5 6 p q 15 1s 3 4 8 c a g n q 1 4 1e 1f 1 4 2 4 5 7 1 2 1 p 3 5 b i 3 f 6"
        + " 8 6 8 6 f 7 8 7 8 17 18 4 8 2 2k z 1c a g 8mc 8mo n r 1d 6k5 a6 a8 2y 40 7 j 5 a 1 2 a b d e 5 6 1 "
        + "2 2 3 2 3 30 3x a3 al 1s 1u 1i 2m c 3k 5 6 3r 4a a h q w q 11 2h 2k 6 8 6 8 6 8 3 12 c d q r j k 2 3"
        + " f h e 1c 3f 3r 19 1l 1l 22 2 6u t w 1d 1t r v 10 1c r w 12 1c u w 10 14 8 9 5 1b 4e 4g a 2o 14 1c 1"
        + "g 5s 8n 8w m w 8 4g 6 8 1 2 18 19 2 5 1 3 n p v x 12 1a 9 2h s w q 2o 1k 1q 2 1u 1 g 4 5 3 4 r 13 8 "
        + "w v w w 1s 8 9 s y 5 l 1i 1s m o r w q 1d 7 2f 21 gw v bn 1h 27 u 1d 19 25 p w a j 10 1f a q z 12 1 "
        + "d 1c 1q 4 f b h k v i j p 4d 1b 1s a l 8 a 2 4 m n 7 8 2 3 5 8 1 w 5 83 1c 1w 2 3 1 9 a 4w 1b 3k 1c "
        + "1w 1 c a 1c 17 1s a dc 2b 2n 1 ch 1l 11c pl sg 33 2dc tr b28 ft g0 v w a 34 u 1c 1c 1s 4 g a b 7 8 l"
        + " q j oz 1x 28 1 1v d cq5 2 2dc 2z 34 d g 9 g a 4i8 i 4g 2d 2e 1z 20 2 4 1 3 2 4 4 5 c d 1 2 7 8 1t 1"
        + "u 4 6 8 9 7 8 s t 4 5 5 6 1 4 7 8 9g 9i p q p q v w p q v w p q v w p q v w p q 8 a 1e 376 5h 5j 9 1"
        + "15 4 5 r s 2 3 1 3 1 2 a b 4 5 1 2 1 7 1 5 1 2 1 2 1 2 3 4 2 3 1 3 1 2 1 2 1 2 1 2 1 2 2 3 1 3 4 5 7"
        + " 8 4 5 4 5 1 2 a b h m 3 4 5 6 h gl d 2yo wyf wzk 379 37k 66 csg f2";
}
