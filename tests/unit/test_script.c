#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "text/script.h"

#include <string.h>

static void script__tells_the_language(void **state)
{
    (void)state;
    static const struct {
        const char *text, *language, *country;
    } cases[] = {
        {"", NULL, NULL},
        {"discovery of argon", NULL, NULL},
        {"Überraschung à la carte, façade, Čapek", NULL, NULL},
        {"1857 – 34 m (21 %)", NULL, NULL},
        {"谁发现了氩气", "zh", "cn"},
        {"GPT-4 架构 explained in detail", "zh", "cn"},
        {"灯台 の 高さ", "ja", "jp"},
        {"東京タワー", "ja", "jp"},
        {"ｶﾀｶﾅ", "ja", "jp"},
        {"等대 높이", "ko", "kr"},
        {"서울의 등대", "ko", "kr"},
        {"кто открыл аргон", "ru", "ru"},
        {"Toyota в России", "ru", "ru"},
        {"я", "ru", "ru"},
        {"хто відкрив аргон", "uk", "ua"},
        {"хто адкрыў аргон, і калі", "be", "by"},
        {"ко је открио аргон", "sr", "rs"},
        {"ποιος ανακάλυψε το αργό", "el", "gr"},
        {"π theorem of μ and ΔG", NULL, NULL},
        {"من اكتشف الأرجون", "ar", "sa"},
        {"چه کسی آرگون را کشف کرد", "fa", "ir"},
        {"آرگون کس نے دریافت کیا ہے", "ur", "pk"},
        {"מי גילה את הארגון", "he", "il"},
        {"आर्गन की खोज किसने की", "hi", "in"},
        {"আর্গন কে আবিষ্কার করেন", "bn", "bd"},
        {"ஆர்கானை கண்டுபிடித்தவர்", "ta", "in"},
        {"ใครค้นพบอาร์กอน", "th", "th"},
        {"ვინ აღმოაჩინა არგონი", "ka", "ge"},
        {"ով հայտնաբերեց արգոնը", "hy", "am"},
        {"\xff\xfe\x80 argon", NULL, NULL},
        {"\xff\xd0\xba\xd1\x82\xd0\xbe \x80", "ru", "ru"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct script_locale *locale = script_locale(str_of(cases[i].text));
        if (!cases[i].language) {
            if (locale)
                fail_msg("\"%s\" is no %s", cases[i].text, locale->language);
            continue;
        }
        if (!locale || strcmp(locale->language, cases[i].language) != 0)
            fail_msg("\"%s\" is %s, not %s", cases[i].text, cases[i].language, locale ? locale->language : "nothing");
        assert_string_equal(locale->country, cases[i].country);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(script__tells_the_language)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
