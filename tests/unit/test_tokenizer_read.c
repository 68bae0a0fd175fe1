/* Reading tokenizer files: what each member becomes, what is refused, and where it says that it stands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base64.h"
#include "core/mem.h"
#include "core/utf8.h"
#include "text/tokenizer/read_internal.h"

#define BPE "'model':{'type':'BPE','vocab':{'a':0,'b':1,'c':2,'ab':3},'merges':['a b']}"

/* JSON is written with ' for " here. */
static char *unquote(const char *text)
{
    char *copy = mem_strdup(text);
    for (char *c = copy; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    return copy;
}

static enum status read_json_text(struct tokenizer_spec *spec, const char *text, struct error *error)
{
    char *json = unquote(text);
    tokenizer_spec_init(spec);
    enum status status = tokenizer_read_json(spec, str_of(json), error);
    free(json);
    return status;
}

static void read_well(struct tokenizer_spec *spec, const char *text)
{
    struct error error = {0};
    if (read_json_text(spec, text, &error) != STATUS_OK)
        fail_msg("%s: %s", text, error.message);
}

static void assert_str(struct str got, const char *expected)
{
    if (!str_equal(got, str_of(expected)))
        fail_msg("\"%.*s\" instead of \"%s\"", STR_ARG(got), expected);
}

/* ---- models ---- */

static void bpe__old_and_new_merges_are_the_same(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{" BPE "}",
        "{'version':'1.0','model':{'merges':[['a','b']],'vocab':{'a':0,'b':1,'c':2,'ab':3}},'added_tokens':[]}",
        "{ 'model' : { 'vocab' : { 'a' : 0 , 'b':1,'c':2,'ab':3 } ,\n'merges':['#version: 0.2','a b'], 'type':'BPE'} }",
        "{'model':{'type':'BPE','vocab':{'\\u0061':0,'b':1,'c':2,'a\\u0062':3},'merges':['\\u0061 b']}}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct tokenizer_spec spec;
        read_well(&spec, texts[i]);
        assert_int_equal(spec.model.kind, MODEL_BPE);
        assert_int_equal(spec.model.n_tokens, 4);
        assert_int_equal(spec.model.n_merges, 1);
        assert_int_equal(spec.model.merges[0].left, 0);
        assert_int_equal(spec.model.merges[0].right, 1);
        assert_int_equal(spec.model.merges[0].merged, 3);
        assert_int_equal(spec.model.unknown, -1);
        assert_false(spec.model.byte_level);
        tokenizer_spec_finish(&spec);
    }
}

static void bpe__the_last_of_two_equal_merges_counts(void **state)
{
    (void)state;
    struct tokenizer_spec spec;
    read_well(&spec, "{'model':{'type':'BPE','vocab':{'a':0,'b':1,'c':2,'ab':3,'bc':4},'merges':['a b','b c','a b']}}");
    assert_int_equal(spec.model.n_merges, 2);
    assert_int_equal(spec.model.merges[0].merged, 4);
    assert_int_equal(spec.model.merges[1].merged, 3);
    tokenizer_spec_finish(&spec);
}

static void bpe__a_nul_is_a_token_like_others(void **state)
{
    (void)state;
    struct tokenizer_spec spec;
    read_well(&spec, "{'model':{'type':'BPE','vocab':{'\\u0000':0,'a':1,'\\u0000a':2},'merges':[['\\u0000','a']]}}");
    assert_int_equal(spec.model.tokens[0].text.len, 1);
    assert_int_equal(spec.model.merges[0].merged, 2);
    tokenizer_spec_finish(&spec);
}

#define BYTE_LEVEL                                                                       \
    "'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':false,'trim_offsets':true}," \
    "'decoder':{'type':'ByteLevel'},"

/* U+0120 stands for a space, U+010A for a line feed, U+0143 for the byte AD. */
static void byte_level__stand_ins_become_bytes(void **state)
{
    (void)state;
    struct tokenizer_spec spec;
    read_well(&spec, "{" BYTE_LEVEL "'model':{'type':'BPE','vocab':{'a':0,'\u0120':1,'\u0120a':2,'\u010a':3,'\u0143':4,"
                     "'\u00e9':5,'<x y>':6,'\u4e2d':7},'merges':['\u0120 a']}}");
    assert_true(spec.model.byte_level);
    assert_int_equal(spec.model.n_tokens, 6);
    assert_str(spec.model.tokens[2].text, " a");
    assert_str(spec.model.tokens[3].text, "\n");
    assert_str(spec.model.tokens[4].text, "\xAD");
    assert_str(spec.model.tokens[5].text, "\xE9");
    assert_int_equal(spec.model.n_unreached, 2);
    assert_str(spec.model.unreached[0].text, "<x y>");
    assert_int_equal(spec.model.merges[0].merged, 2);
    assert_int_equal(tokenizer_spec_find(&spec, STR("\u0120a")), 2);
    assert_int_equal(tokenizer_spec_find(&spec, STR("\u4e2d")), 7);
    tokenizer_spec_finish(&spec);
}

static void byte_level__every_byte_has_a_stand_in(void **state)
{
    (void)state;
    bool seen[256] = {false};
    for (uint32_t code = 0; code < 0x200; code++) {
        char text[4], byte[4];
        size_t length = utf8_encode(code, text), count = read_stand_ins(str_make(text, length), byte);
        if (count == SIZE_MAX)
            continue;
        assert_int_equal(count, 1);
        assert_false(seen[(unsigned char)byte[0]]);
        seen[(unsigned char)byte[0]] = true;
    }
    for (size_t i = 0; i < 256; i++)
        assert_true(seen[i]);
}

static void unigram__scores_are_read(void **state)
{
    (void)state;
    struct tokenizer_spec spec;
    read_well(&spec, "{'model':{'type':'Unigram','unk_id':0,'vocab':[['<unk>',0],['a',-1.5],['ab',-2e0]]}}");
    assert_int_equal(spec.model.kind, MODEL_UNIGRAM);
    assert_int_equal(spec.model.n_tokens, 3);
    assert_true(spec.model.tokens[1].score == -1.5);
    assert_int_equal(spec.model.tokens[2].id, 2);
    assert_int_equal(spec.model.unknown, 0);
    tokenizer_spec_finish(&spec);
    read_well(&spec, "{'model':{'unk_id':1,'vocab':[['a',-1],['<unk>',0]]}}");
    assert_int_equal(spec.model.kind, MODEL_UNIGRAM);
    tokenizer_spec_finish(&spec);
}

/* ---- steps ---- */

static void steps__sequences_are_flattened(void **state)
{
    (void)state;
    struct tokenizer_spec spec;
    read_well(&spec, "{'normalizer':{'type':'Sequence','normalizers':[{'type':'NFC'},{'type':'Sequence','normalizers':["
                     "{'type':'Prepend','prepend':'_'},{'type':'Replace','pattern':{'String':' '},'content':'_'}]},"
                     "{'type':'Strip','strip_left':true,'strip_right':false}]},"
                     "'pre_tokenizer':{'type':'Sequence','pretokenizers':["
                     "{'type':'Split','pattern':{'Regex':'\\\\d+'},'behavior':'MergedWithNext','invert':true},"
                     "{'type':'Digits','individual_digits':true},{'type':'Punctuation'},"
                     "{'type':'Metaspace','replacement':'\u2581','prepend_scheme':'first','split':false}]},"
                     "'decoder':{'type':'Sequence','decoders':[{'type':'ByteFallback'},{'type':'Fuse'},"
                     "{'type':'Strip','content':' ','start':1,'stop':0},{'type':'Metaspace','replacement':'_',"
                     "'add_prefix_space':false}]}," BPE "}");
    assert_int_equal(spec.n_normalizers, 4);
    assert_int_equal(spec.normalizers[1].kind, NORMALIZER_PREPEND);
    assert_str(spec.normalizers[1].text, "_");
    assert_str(spec.normalizers[2].pattern.text, " ");
    assert_false(spec.normalizers[2].pattern.is_regex);
    assert_true(spec.normalizers[3].left && !spec.normalizers[3].right);
    assert_int_equal(spec.n_pre_tokenizers, 4);
    assert_true(spec.pre_tokenizers[0].pattern.is_regex && spec.pre_tokenizers[0].invert);
    assert_str(spec.pre_tokenizers[0].pattern.text, "\\d+");
    assert_int_equal(spec.pre_tokenizers[0].behavior, SPLIT_MERGED_WITH_NEXT);
    assert_true(spec.pre_tokenizers[1].individual);
    assert_int_equal(spec.pre_tokenizers[2].behavior, SPLIT_ISOLATED);
    assert_int_equal(spec.pre_tokenizers[3].prepend, METASPACE_FIRST);
    assert_false(spec.pre_tokenizers[3].split);
    assert_int_equal(spec.n_decoders, 4);
    assert_int_equal(spec.decoders[2].start, 1);
    assert_int_equal(spec.decoders[3].prepend, METASPACE_NEVER);
    tokenizer_spec_finish(&spec);
}

static void frame__is_what_stands_around_the_text(void **state)
{
    (void)state;
    static const struct {
        const char *processor;
        uint32_t before, after; /* the first id, 0: none */
        size_t n_before, n_after;
    } rows[] = {
        {"null", 0, 0, 0, 0},
        {"{'type':'ByteLevel'}", 0, 0, 0, 0},
        {"{'type':'BertProcessing','sep':['x',9],'cls':['y',10]}", 10, 9, 1, 1},
        {"{'type':'Sequence','processors':[{'type':'ByteLevel'},{'type':'TemplateProcessing','single':["
         "{'SpecialToken':{'id':'Q','type_id':0}},{'Sequence':{'id':'A','type_id':0}},"
         "{'SpecialToken':{'id':'E','type_id':0}}],'pair':[],'special_tokens':{"
         "'Q':{'id':'Q','ids':[7,8],'tokens':['e','f']},'E':{'id':'E','ids':[5],'tokens':['e']}}}]}",
         7, 5, 2, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct tokenizer_spec spec;
        char *text = mem_printf("{'post_processor':%s," BPE "}", rows[i].processor);
        read_well(&spec, text);
        assert_int_equal(spec.before.count, rows[i].n_before);
        assert_int_equal(spec.after.count, rows[i].n_after);
        if (rows[i].n_before)
            assert_int_equal(spec.before.ids[0], rows[i].before);
        if (rows[i].n_after)
            assert_int_equal(spec.after.ids[0], rows[i].after);
        tokenizer_spec_finish(&spec);
        free(text);
    }
}

/* ---- added tokens ---- */

#define MARKS "'single_word':false,'lstrip':false,'rstrip':false,'normalized':false,'special':true"

/* As tokenizers 0.23.3 does it: ids are counted on, whatever the file says. */
static void added__ids_are_counted_on(void **state)
{
    (void)state;
    struct tokenizer_spec spec;
    read_well(&spec, "{'added_tokens':[{'id':100,'content':'<x>'," MARKS "},{'id':50,'content':'<y>'," MARKS "},"
                     "{'id':9,'content':'ab'," MARKS "},{'id':8,'content':''," MARKS "},"
                     "{'id':7,'content':'<x>','single_word':true,'lstrip':true,'rstrip':false,'normalized':true,"
                     "'special':false}]," BPE "}");
    assert_int_equal(spec.n_added, 3);
    assert_int_equal(spec.added[0].id, 4);
    assert_true(spec.added[0].lstrip && spec.added[0].single_word && !spec.added[0].special);
    assert_int_equal(spec.added[1].id, 5);
    assert_int_equal(spec.added[2].id, 3);
    tokenizer_spec_finish(&spec);
}

static void config__adds_what_is_missing(void **state)
{
    (void)state;
    struct tokenizer_spec spec;
    read_well(&spec, "{'added_tokens':[{'id':4,'content':'<x>'," MARKS "}]," BPE "}");
    char *config = unquote("{'added_tokens_decoder':{'10':{'content':'<z>','special':false},'4':{'content':'<x>',"
                           "'special':true},'5':{'content':'<y>'}},'bos_token':'<s>','eos_token':{'content':'<x>'},"
                           "'add_bos_token':true,'add_eos_token':true,'unk_token':null,'model_max_length':"
                           "1000000000000000019884624838656,'extra_special_tokens':{'image_token':'<img>'},"
                           "'chat_template':[{'name':'rag','template':'no'},{'name':'default','template':'yes'}]}");
    assert_int_equal(tokenizer_read_config(&spec, str_of(config), NULL), STATUS_OK);
    static const char *const contents[] = {"<x>", "<y>", "<z>", "<s>", "<img>"};
    assert_int_equal(spec.n_added, 5);
    for (uint32_t i = 0; i < 5; i++) {
        assert_str(spec.added[i].content, contents[i]);
        assert_int_equal(spec.added[i].id, 4 + i);
    }
    assert_true(spec.added[3].special && !spec.added[3].normalized && spec.added[2].normalized);
    assert_int_equal(spec.before.count + spec.after.count, 0);
    assert_str(spec.chat_template, "yes");
    free(config);
    tokenizer_spec_finish(&spec);
}

/* ---- refusals ---- */

static void refusal__says_where_and_what(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum status status;
        const char *part; /* of the message */
    } rows[] = {
        {"", STATUS_SYNTAX, "invalid JSON"},
        {"{", STATUS_SYNTAX, "invalid JSON"},
        {"[]", STATUS_UNSUPPORTED, "no \"model\""},
        {"{}", STATUS_UNSUPPORTED, "no \"model\""},
        {"{'config':{},'vocab':[]}", STATUS_UNSUPPORTED, "tekken.json"},
        {"{'model':{'type':'WordPiece','vocab':{}}}", STATUS_UNSUPPORTED, "model.type: WordPiece"},
        {"{'model':{'type':'Word\\u001b[2JLevel','vocab':{}}}", STATUS_UNSUPPORTED, "model.type: Word?[2JLevel"},
        {"{'model':{'vocab':{'a':0},'max_input_chars_per_word':1}}", STATUS_UNSUPPORTED, "model.type: WordPiece"},
        {"{'version':'2.0'," BPE "}", STATUS_UNSUPPORTED, "version: \"2.0\""},
        {"{'model':{'type':'BPE','merges':[]}}", STATUS_SYNTAX, "model.vocab"},
        {"{'model':{'type':'BPE','vocab':{'a':0}}}", STATUS_SYNTAX, "model.merges"},
        {"{'model':{'type':'BPE','vocab':{},'merges':[]}}", STATUS_SYNTAX, "no tokens"},
        {"{'model':{'type':'BPE','vocab':['a'],'merges':[]}}", STATUS_SYNTAX, "model.vocab must be an object"},
        {"{'model':{'type':'BPE','vocab':{'a':-1},'merges':[]}}", STATUS_SYNTAX, "integer"},
        {"{'model':{'type':'BPE','vocab':{'a':1.5},'merges':[]}}", STATUS_SYNTAX, "integer"},
        {"{'model':{'type':'BPE','vocab':{'a':16777216},'merges':[]}}", STATUS_TOO_BIG, "higher"},
        {"{'model':{'type':'BPE','vocab':{'a':0,'b':0},'merges':[]}}", STATUS_UNSUPPORTED, "another token: \"b\""},
        {"{'model':{'type':'BPE','vocab':{'a':0,'a':1},'merges':[]}}", STATUS_UNSUPPORTED, "twice: \"a\""},
        {"{'model':{'type':'BPE','vocab':{'a':0 'b':1},'merges':[]}}", STATUS_SYNTAX, ", or }"},
        {"{'model':{'type':'BPE','vocab':{'a':0},'merges':['a']}}", STATUS_SYNTAX, "model.merges: two tokens"},
        {"{'model':{'type':'BPE','vocab':{'a':0},'merges':['a a a']}}", STATUS_SYNTAX, "model.merges: two tokens"},
        {"{'model':{'type':'BPE','vocab':{'a':0,'aa':1},'merges':['a a',['a','a']]}}", STATUS_SYNTAX, "two tokens"},
        {"{'model':{'type':'BPE','vocab':{'a':0},'merges':[['a','x']]}}", STATUS_SYNTAX,
         "not in the vocabulary: \"x\""},
        {"{'model':{'type':'BPE','vocab':{'a':0},'merges':[['a','a']]}}", STATUS_SYNTAX,
         "not in the vocabulary: \"aa\""},
        {"{'model':{'type':'BPE','vocab':{'\\ud800':0},'merges':[]}}", STATUS_SYNTAX, ""},
        {"{'model':{'type':'BPE','vocab':{'\xff':0},'merges':[]}}", STATUS_SYNTAX, ""},
        {"{'model':{'type':'BPE','dropout':0.1,'vocab':{'a':0},'merges':[]}}", STATUS_UNSUPPORTED, "model.dropout"},
        {"{'model':{'type':'BPE','continuing_subword_prefix':'##','vocab':{'a':0},'merges':[]}}", STATUS_UNSUPPORTED,
         "model.continuing_subword_prefix"},
        {"{'model':{'type':'BPE','end_of_word_suffix':'</w>','vocab':{'a':0},'merges':[]}}", STATUS_UNSUPPORTED,
         "model.end_of_word_suffix"},
        {"{'model':{'type':'BPE','unk_token':'?','vocab':{'a':0},'merges':[]}}", STATUS_UNSUPPORTED, "model.unk_token"},
        {"{'model':{'type':'Unigram','unk_id':null,'vocab':[['a',-1]]}}", STATUS_UNSUPPORTED, "model.unk_id"},
        {"{'model':{'type':'Unigram','unk_id':1,'vocab':[['a',-1]]}}", STATUS_UNSUPPORTED, "model.unk_id"},
        {"{'model':{'type':'Unigram','unk_id':0,'vocab':[['a',-1e999]]}}", STATUS_SYNTAX, "[token, score]"},
        {"{'model':{'type':'Unigram','unk_id':0,'vocab':[['a']]}}", STATUS_SYNTAX, "[token, score]"},
        {"{'normalizer':{'type':'BertNormalizer'}," BPE "}", STATUS_UNSUPPORTED, "normalizer: BertNormalizer"},
        {"{'normalizer':{'type':'Sequence','normalizers':[{'type':'NFC'},{'type':'Foo'}]}," BPE "}", STATUS_UNSUPPORTED,
         "normalizer.normalizers[1]: Foo"},
        {"{'normalizer':{'type':'Sequence'}," BPE "}", STATUS_SYNTAX, "normalizer.normalizers"},
        {"{'normalizer':{'type':'Replace','pattern':' ','content':''}," BPE "}", STATUS_SYNTAX, "normalizer.pattern"},
        {"{'normalizer':{'type':'Precompiled','precompiled_charsmap':'*'}," BPE "}", STATUS_SYNTAX, "base64"},
        {"{'normalizer':{}," BPE "}", STATUS_SYNTAX, "normalizer: \"type\""},
        {"{'pre_tokenizer':{'type':'UnicodeScripts'}," BPE "}", STATUS_UNSUPPORTED, "pre_tokenizer: UnicodeScripts"},
        {"{'pre_tokenizer':{'type':'Split','pattern':{'String':'a'},'behavior':'removed','invert':false}," BPE "}",
         STATUS_SYNTAX, "behavior"},
        {"{'pre_tokenizer':{'type':'Sequence','pretokenizers':[{'type':'ByteLevel','add_prefix_space':false},"
         "{'type':'Whitespace'}]}," BPE "}",
         STATUS_UNSUPPORTED, "behind ByteLevel"},
        {"{'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':false}," BPE "}", STATUS_UNSUPPORTED, "decoder"},
        {"{'decoder':{'type':'CTC'}," BPE "}", STATUS_UNSUPPORTED, "decoder: CTC"},
        {"{'post_processor':{'type':'Foo'}," BPE "}", STATUS_UNSUPPORTED, "post_processor: Foo"},
        {"{'post_processor':{'type':'TemplateProcessing','single':[]}," BPE "}", STATUS_UNSUPPORTED,
         "post_processor.single"},
        {"{'post_processor':{'type':'Sequence','processors':[{'type':'BertProcessing','sep':['a',0],'cls':['a',0]},"
         "{'type':'BertProcessing','sep':['a',0],'cls':['a',0]}]}," BPE "}",
         STATUS_UNSUPPORTED, "processors[1]"},
        {"{'added_tokens':[{'id':1,'content':'a'}]," BPE "}", STATUS_SYNTAX, "added_tokens[0]"},
        {"{'added_tokens':{}," BPE "}", STATUS_SYNTAX, "added_tokens"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct tokenizer_spec spec;
        struct error error = {0};
        enum status status = read_json_text(&spec, rows[i].text, &error);
        if (status != rows[i].status || !strstr(error.message, rows[i].part))
            fail_msg("%s: status %d, \"%s\"", rows[i].text, status, error.message);
        tokenizer_spec_finish(&spec);
    }
}

static void refusal__has_a_place_where_json_is_broken(void **state)
{
    (void)state;
    struct tokenizer_spec spec;
    struct error error = {0};
    assert_int_equal(read_json_text(&spec, "{'model':{'type':'BPE',\n'vocab':{'a':0,\n'b':x},'merges':[]}}", &error),
                     STATUS_SYNTAX);
    assert_int_equal(error.line, 3);
    tokenizer_spec_finish(&spec);
    assert_int_equal(read_json_text(&spec, "{" BPE ",\n'added_tokens':nil}", &error), STATUS_SYNTAX);
    assert_int_equal(error.line, 2);
    tokenizer_spec_finish(&spec);
}

/* Any beginning of a file is refused, whatever it ends in. */
static void refusal__of_every_file_cut_short(void **state)
{
    (void)state;
    char *whole = unquote("{'added_tokens':[{'id':4,'content':'<x>'," MARKS "}],'normalizer':{'type':'NFC'}," BPE "}");
    for (size_t i = 0; whole[i]; i++) {
        struct tokenizer_spec spec;
        char *part = str_dup(str_make(whole, i)); /* so that a read behind it shows */
        tokenizer_spec_init(&spec);
        assert_int_not_equal(tokenizer_read_json(&spec, str_make(part, i), NULL), STATUS_OK);
        tokenizer_spec_finish(&spec);
        free(part);
    }
    free(whole);
}

static void refusal__of_deep_and_of_many_values(void **state)
{
    (void)state;
    static const char *const openings[] = {"[", "{\"model\":[", "{\"a\":", "{\"model\":{\"vocab\":["};
    for (size_t i = 0; i < sizeof openings / sizeof openings[0]; i++) {
        struct tokenizer_spec spec;
        struct buf text;
        buf_init(&text, BUF_UNBOUNDED);
        for (size_t k = 0; k < 5000000 / strlen(openings[i]); k++)
            buf_add_text(&text, openings[i]);
        tokenizer_spec_init(&spec);
        assert_int_not_equal(tokenizer_read_json(&spec, buf_str(&text), NULL), STATUS_OK);
        tokenizer_spec_finish(&spec);
        buf_finish(&text);
    }
}

/* ---- rank files ---- */

/* `count` ranks: the bytes, then texts of two and more bytes. `skip` is left out. */
static void make_ranks(struct buf *out, uint32_t count, uint32_t skip)
{
    buf_init(out, BUF_UNBOUNDED);
    for (uint32_t i = 0, rank = 0; i < count; i++, rank++) {
        char text[3] = {(char)(i < 256 ? i : i >> 8), (char)i, (char)(i >> 16)};
        rank += rank == skip;
        assert_int_equal(base64_append(out, str_make(text, i < 256 ? 1 : 3)), STATUS_OK);
        buf_addf(out, " %u\n", rank);
    }
}

static enum status read_ranks(struct tokenizer_spec *spec, const char *name, struct str ranks, struct error *error)
{
    tokenizer_spec_init(spec);
    return tokenizer_read_tiktoken(spec, str_of(name), ranks, error);
}

static void tiktoken__is_known_by_its_ranks(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t count, skip;
        const char *special; /* the last one */
        uint32_t id;
        size_t n_special;
    } rows[] = {
        {"r50k_base.tiktoken", 50256, UINT32_MAX, "<|endoftext|>", 50256, 1},
        {"p50k_base.tiktoken", 50280, 50256, "<|endoftext|>", 50256, 1},
        {"p50k_edit.tiktoken", 50280, 50256, "<|fim_suffix|>", 50283, 4},
        {"x", 100256, UINT32_MAX, "<|endofprompt|>", 100276, 5},
        {"o200k_base.tiktoken", 199998, UINT32_MAX, "<|endofprompt|>", 200018, 2},
        {"O200k_Harmony.tiktoken", 199998, UINT32_MAX, "<|endofprompt|>", 200018, 1091},
        {"qwen.tiktoken", 151643, UINT32_MAX, "<|extra_204|>", 151850, 208},
        {"tokenizer.model", 128000, UINT32_MAX, "<|reserved_special_token_250|>", 128255, 256},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct tokenizer_spec spec;
        struct buf ranks;
        struct error error = {0};
        make_ranks(&ranks, rows[i].count, rows[i].skip);
        if (read_ranks(&spec, rows[i].name, buf_str(&ranks), &error) != STATUS_OK)
            fail_msg("%s: %s", rows[i].name, error.message);
        assert_int_equal(spec.model.n_tokens, rows[i].count);
        assert_true(spec.model.merge_by_rank && spec.model.byte_level && spec.pre_tokenizers[0].pattern.is_tiktoken);
        assert_int_equal(spec.n_added, rows[i].n_special);
        assert_str(spec.added[spec.n_added - 1].content, rows[i].special);
        assert_int_equal(spec.added[spec.n_added - 1].id, rows[i].id);
        tokenizer_spec_finish(&spec);
        buf_finish(&ranks);
    }
}

static void tiktoken__others_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *ranks, *part;
    } rows[] = {
        {"YQ== 0\n", "known are"},
        {"YQ==\n", "a token in base64"},
        {"YQ== x\n", "a token in base64"},
        {"YQ 0\n", "a token in base64"},
        {"YR== 0\n", "a token in base64"},
        {"YQ== -1\n", "a token in base64"},
        {"YQ== 0 1\n", "a token in"},
        {"YQ== 16777216\n", "higher"},
        {"YQ== 0\nYg== 0\n", "there twice"},
        {"<html>\n", "a token in base64"},
        {"YQ== 99999999999999999999", "a token"},
    };
    struct tokenizer_spec spec;
    struct error error = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_not_equal(read_ranks(&spec, "x.tiktoken", str_of(rows[i].ranks), &error), STATUS_OK);
        if (!strstr(error.message, rows[i].part))
            fail_msg("%s: %s", rows[i].ranks, error.message);
        tokenizer_spec_finish(&spec);
    }
    struct buf ranks; /* a byte is missing, and one token is there twice */
    make_ranks(&ranks, 50256, UINT32_MAX);
    memcpy(ranks.data, "Bw==", 4);
    assert_int_equal(read_ranks(&spec, "x", buf_str(&ranks), &error), STATUS_SYNTAX);
    tokenizer_spec_finish(&spec);
    buf_finish(&ranks);
}

static void base64__reads_what_it_writes_and_nothing_else(void **state)
{
    (void)state;
    static const char *const wrong[] = {"a",
                                        "ab",
                                        "abc",
                                        "ab=c",
                                        "=abc",
                                        "a===",
                                        "YR==",
                                        "YWJ=",
                                        "YQ==YQ==",
                                        "Y Q=",
                                        "YQ=="
                                        "\n"};
    for (size_t length = 0; length < 20; length++) {
        char bytes[20];
        struct buf text, back;
        buf_init(&text, BUF_UNBOUNDED);
        buf_init(&back, BUF_UNBOUNDED);
        for (size_t i = 0; i < length; i++)
            bytes[i] = (char)(i * 77 + length * 131);
        assert_int_equal(base64_append(&text, str_make(bytes, length)), STATUS_OK);
        assert_int_equal(base64_decode(&back, buf_str(&text)), STATUS_OK);
        assert_true(str_equal(buf_str(&back), str_make(bytes, length)));
        buf_finish(&text);
        buf_finish(&back);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct buf out;
        buf_init(&out, BUF_UNBOUNDED);
        assert_int_equal(base64_decode(&out, str_of(wrong[i])), STATUS_SYNTAX);
        assert_int_equal(out.len, 0);
        buf_finish(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bpe__old_and_new_merges_are_the_same),
        cmocka_unit_test(bpe__the_last_of_two_equal_merges_counts),
        cmocka_unit_test(bpe__a_nul_is_a_token_like_others),
        cmocka_unit_test(byte_level__stand_ins_become_bytes),
        cmocka_unit_test(byte_level__every_byte_has_a_stand_in),
        cmocka_unit_test(unigram__scores_are_read),
        cmocka_unit_test(steps__sequences_are_flattened),
        cmocka_unit_test(frame__is_what_stands_around_the_text),
        cmocka_unit_test(added__ids_are_counted_on),
        cmocka_unit_test(config__adds_what_is_missing),
        cmocka_unit_test(refusal__says_where_and_what),
        cmocka_unit_test(refusal__has_a_place_where_json_is_broken),
        cmocka_unit_test(refusal__of_every_file_cut_short),
        cmocka_unit_test(refusal__of_deep_and_of_many_values),
        cmocka_unit_test(tiktoken__is_known_by_its_ranks),
        cmocka_unit_test(tiktoken__others_are_refused),
        cmocka_unit_test(base64__reads_what_it_writes_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
