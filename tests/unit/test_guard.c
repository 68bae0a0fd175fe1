#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "net/guard.h"

static bool allowed(const struct guard *guard, const char *address)
{
    struct sockaddr_storage where = {0};
    struct sockaddr_in *in4 = (struct sockaddr_in *)&where;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&where;
    if (inet_pton(AF_INET, address, &in4->sin_addr) == 1) {
        where.ss_family = AF_INET;
    } else {
        assert_int_equal(inet_pton(AF_INET6, address, &in6->sin6_addr), 1);
        where.ss_family = AF_INET6;
    }
    bool by_address = guard_address_allowed(guard, (struct sockaddr *)&where);
    assert_int_equal(by_address, guard_text_allowed(guard, address));
    return by_address;
}

static void guard__refuses_what_is_not_public(void **state)
{
    (void)state;
    static const char *const refused[] = {
        /* first and last of each range */
        "0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255", "100.100.100.200",
        "127.0.0.0", "127.0.0.1", "127.255.255.255", "168.63.129.16", "169.254.0.0", "169.254.169.254",
        "169.254.255.255", "172.16.0.0", "172.31.255.255", "192.0.0.0", "192.0.0.192", "192.0.0.255", "192.0.2.0",
        "192.0.2.255", "192.31.196.1", "192.52.193.1", "192.88.99.0", "192.88.99.255", "192.168.0.0", "192.168.255.255",
        "192.175.48.1", "198.18.0.0", "198.19.255.255", "198.51.100.0", "198.51.100.255", "203.0.113.0",
        "203.0.113.255", "224.0.0.0", "239.255.255.255", "240.0.0.0", "255.255.255.254", "255.255.255.255",
        /* IPv6 */
        "::", "::1", "::2", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "::8.8.8.8", "::ffff:0:127.0.0.1",
        "64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::1", "64:ff9b:1:ffff::8.8.8.8", "100::1", "100:0:0:1::1",
        "1fff:ffff::1", "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:2::1", "2001:10::1", "2001:20::1",
        "2001:1ff:ffff::1", "2001:db8::1", "2001:db8:ffff::1", "2002:7f00:1::1", "2002:808:808::1", "2620:4f:8000::1",
        "3ffe::1", "3fff::1", "3fff:fff:ffff::1", "4000::1", "5f00::1", "8000::1", "fc00::1", "fd00::1",
        "fd00:ec2::254", "fdff::1", "fe80::1", "febf::1", "fec0::1", "feff::1", "ff00::1", "ff02::1", "ffff::1",
        "2606:4700::5efe:7f00:1", "2606:4700::200:5efe:10.0.0.1"};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        if (allowed(NULL, refused[i]))
            fail_msg("%s is let through", refused[i]);
}

static void guard__allows_the_public_internet(void **state)
{
    (void)state;
    static const char *const public[] = {"1.0.0.0",
                                         "1.1.1.1",
                                         "8.8.8.8",
                                         "9.255.255.255",
                                         "11.0.0.0",
                                         "100.63.255.255",
                                         "100.128.0.0",
                                         "126.255.255.255",
                                         "128.0.0.0",
                                         "168.63.129.15",
                                         "168.63.129.17",
                                         "169.253.255.255",
                                         "169.255.0.0",
                                         "172.15.255.255",
                                         "172.32.0.0",
                                         "191.255.255.255",
                                         "192.0.1.0",
                                         "192.0.3.0",
                                         "192.88.98.255",
                                         "192.88.100.0",
                                         "192.167.255.255",
                                         "192.169.0.0",
                                         "198.17.255.255",
                                         "198.20.0.0",
                                         "198.51.99.255",
                                         "198.51.101.0",
                                         "203.0.112.255",
                                         "203.0.114.0",
                                         "223.255.255.255",
                                         "2000::1",
                                         "2001:200::1",
                                         "2001:4860:4860::8888",
                                         "2001:db7:ffff::1",
                                         "2001:db9::1",
                                         "2003::1",
                                         "2606:4700:4700::1111",
                                         "2620:4f:8001::1",
                                         "2a00:1450::1",
                                         "3ffd::1",
                                         "3fff:1000::1",
                                         "2606:4700::5eff:808:808"};
    for (size_t i = 0; i < sizeof public / sizeof public[0]; i++)
        if (!allowed(NULL, public[i]))
            fail_msg("%s is refused", public[i]);
}

static void guard__refuses_other_families_and_texts(void **state)
{
    (void)state;
    struct sockaddr_storage local = {.ss_family = AF_UNIX}, none = {.ss_family = AF_UNSPEC};
    assert_false(guard_address_allowed(NULL, (struct sockaddr *)&local));
    assert_false(guard_address_allowed(NULL, (struct sockaddr *)&none));
    static const char *const texts[] = {
        "",         "example.com",  "8.8.8",
        "8.8.8.8.", "0x8.8.8.8",    "[2606:4700::1]",
        "%eth0",    "fe80::1%eth0", "1111111111111111111111111111111111111111111111111111"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_false(guard_text_allowed(NULL, texts[i]));
    assert_true(guard_text_allowed(NULL, "2606:4700::1111%eth0"));
}

static void guard__exemptions_open_exactly_their_network(void **state)
{
    (void)state;
    static const struct {
        const char *network, *inside, *outside;
    } cases[] = {
        {"127.0.0.1", "127.0.0.1", "127.0.0.2"},
        {"127.0.0.1", "127.0.0.1", "::1"},
        {"127.0.0.0/8", "127.255.0.1", "0.0.0.1"},
        {"127.0.0.0/8", "127.0.0.1", "::ffff:127.0.0.1"},
        {"10.1.0.0/16", "10.1.255.255", "10.2.0.0"},
        {"10.1.2.0/23", "10.1.3.255", "10.1.4.0"},
        {"10.0.0.128/25", "10.0.0.128", "10.0.0.127"},
        {"192.168.1.4/30", "192.168.1.7", "192.168.1.8"},
        {"192.168.1.4/31", "192.168.1.5", "192.168.1.6"},
        {" 172.16.0.0/12 ", "172.31.255.255", "10.0.0.1"},
        {"::1", "::1", "::2"},
        {"[::1]/128", "::1", "127.0.0.1"},
        {"fd00::/8", "fdff::1", "fc00::1"},
        {"fd12:3456::/33", "fd12:3456:7fff::1", "fd12:3456:8000::1"},
        {"::ffff:127.0.0.0/104", "::ffff:127.9.9.9", "127.0.0.1"},
        {"64:ff9b::/96", "64:ff9b::8.8.8.8", "64:ff9b:1::1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct guard guard;
        struct error error;
        guard_init(&guard);
        if (guard_allow(&guard, str_of(cases[i].network), &error) != STATUS_OK)
            fail_msg("%s: %s", cases[i].network, error.message);
        assert_true(allowed(&guard, cases[i].inside));
        assert_false(guard_text_allowed(&guard, cases[i].outside));
        assert_true(allowed(&guard, "8.8.8.8"));
        assert_false(allowed(&guard, "169.254.169.254"));
        guard_finish(&guard);
    }
}

static void guard__everything_can_be_opened_for_one_family(void **state)
{
    (void)state;
    struct guard guard;
    guard_init(&guard);
    assert_int_equal(guard_allow(&guard, STR("0.0.0.0/0"), NULL), STATUS_OK);
    assert_true(allowed(&guard, "127.0.0.1"));
    assert_true(allowed(&guard, "255.255.255.255"));
    assert_false(allowed(&guard, "::1"));
    guard_finish(&guard);
    guard_finish(&guard);
    guard_finish(NULL);
}

static void guard__malformed_exemptions_are_explained(void **state)
{
    (void)state;
    static const struct {
        const char *network, *says;
    } cases[] = {
        {"", "is no network"},
        {"localhost", "is no network"},
        {"127.1", "is no network"},
        {"0x7f.0.0.1", "is no network"},
        {"127.0.0.1.", "is no network"},
        {"[127.0.0.1]", "is no network"},
        {"fe80::1%lo", "is no network"},
        {"10.0.0.0/8/8", "prefix length"},
        {"10.0.0.0/", "prefix length"},
        {"10.0.0.0/33", "from 0 to 32"},
        {"10.0.0.0/-1", "prefix length"},
        {"10.0.0.0/+8", "prefix length"},
        {"10.0.0.0/8x", "prefix length"},
        {"10.0.0.0/255.0.0.0", "prefix length"},
        {"::/129", "from 0 to 128"},
        {"10.0.0.1/8", "10.0.0.0/8 names the network"},
        {"fd00::1/64", "fd00::/64 names the network"},
        {"0.0.0.1/0", "0.0.0.0/0 names the network"},
    };
    struct guard guard;
    guard_init(&guard);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error error;
        if (guard_allow(&guard, str_of(cases[i].network), &error) != STATUS_INVALID)
            fail_msg("\"%s\" is taken", cases[i].network);
        if (!strstr(error.message, cases[i].says))
            fail_msg("\"%s\": %s", cases[i].network, error.message);
    }
    assert_int_equal(guard.n_exempt, 0);
    guard_finish(&guard);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guard__refuses_what_is_not_public),
        cmocka_unit_test(guard__allows_the_public_internet),
        cmocka_unit_test(guard__refuses_other_families_and_texts),
        cmocka_unit_test(guard__exemptions_open_exactly_their_network),
        cmocka_unit_test(guard__everything_can_be_opened_for_one_family),
        cmocka_unit_test(guard__malformed_exemptions_are_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
