#include "CCurl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#define FUNCTIONS(F)                                                                                                  \
    F(curl_global_init)                                                                                               \
    F(curl_easy_init)                                                                                                 \
    F(curl_easy_cleanup)                                                                                              \
    F(curl_easy_setopt)                                                                                               \
    F(curl_easy_getinfo)                                                                                              \
    F(curl_easy_pause)                                                                                                \
    F(curl_easy_strerror)                                                                                             \
    F(curl_slist_append)                                                                                              \
    F(curl_slist_free_all)                                                                                            \
    F(curl_multi_init)                                                                                                \
    F(curl_multi_cleanup)                                                                                             \
    F(curl_multi_setopt)                                                                                              \
    F(curl_multi_add_handle)                                                                                          \
    F(curl_multi_remove_handle)                                                                                       \
    F(curl_multi_perform)                                                                                             \
    F(curl_multi_poll)                                                                                                \
    F(curl_multi_wakeup)                                                                                              \
    F(curl_multi_info_read)

#define DECLARE(name) __typeof__(&name) name##_;
static struct {
    FUNCTIONS(DECLARE)
} library;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *problem;

static void load(void) {
#ifdef __APPLE__
    /* By its full path: a name alone is looked for in the working directory too, where anybody may have put a file. */
    static const char *const names[] = {"/usr/lib/libcurl.4.dylib"};
#else
    static const char *const names[] = {"libcurl.so.4", "libcurl.so", "libcurl-gnutls.so.4"};
#endif
    void *loaded = NULL;
    for (size_t number = 0; loaded == NULL && number < sizeof names / sizeof *names; number++)
        loaded = dlopen(names[number], RTLD_NOW | RTLD_LOCAL);
    if (loaded == NULL) {
        problem = "libcurl.so.4 cannot be loaded; install it (on Debian the package libcurl4)";
        return;
    }
#define FIND(name)                                                                                                    \
    library.name##_ = (__typeof__(&name))dlsym(loaded, #name);                                                        \
    if (library.name##_ == NULL) {                                                                                    \
        problem = "the libcurl that is installed lacks " #name "; 7.68 or newer is needed";                           \
        return;                                                                                                       \
    }
    FUNCTIONS(FIND)
    /* At exit OpenSSL frees its memory, also while the thread of a transport still uses it, which ends the process with a
       signal. OPENSSL_INIT_NO_ATEXIT, by its number. */
    int (*init_crypto)(uint64_t, const void *) =
        (int (*)(uint64_t, const void *))dlsym(loaded, "OPENSSL_init_crypto");
    if (init_crypto != NULL)
        init_crypto(0x00080000, NULL);
    if (library.curl_global_init_(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        problem = "libcurl cannot be set up";
}

const char *rs_curl_load(void) {
    pthread_once(&once, load);
    return problem;
}

CURL *rs_curl_easy_init(void) { return library.curl_easy_init_(); }

void rs_curl_easy_cleanup(CURL *handle) { library.curl_easy_cleanup_(handle); }

CURLcode rs_curl_easy_pause(CURL *handle, int mask) { return library.curl_easy_pause_(handle, mask); }

const char *rs_curl_easy_strerror(CURLcode result) { return library.curl_easy_strerror_(result); }

struct curl_slist *rs_curl_slist_append(struct curl_slist *list, const char *text) {
    return library.curl_slist_append_(list, text);
}

void rs_curl_slist_free_all(struct curl_slist *list) { library.curl_slist_free_all_(list); }

CURLM *rs_curl_multi_init(void) { return library.curl_multi_init_(); }

CURLMcode rs_curl_multi_cleanup(CURLM *multi) { return library.curl_multi_cleanup_(multi); }

CURLMcode rs_curl_multi_add_handle(CURLM *multi, CURL *handle) {
    return library.curl_multi_add_handle_(multi, handle);
}

CURLMcode rs_curl_multi_remove_handle(CURLM *multi, CURL *handle) {
    return library.curl_multi_remove_handle_(multi, handle);
}

CURLMcode rs_curl_multi_perform(CURLM *multi, int *running) { return library.curl_multi_perform_(multi, running); }

CURLMcode rs_curl_multi_poll(CURLM *multi, int milliseconds) {
    return library.curl_multi_poll_(multi, NULL, 0, milliseconds, NULL);
}

CURLMcode rs_curl_multi_wakeup(CURLM *multi) { return library.curl_multi_wakeup_(multi); }

CURLMcode rs_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return library.curl_multi_setopt_(multi, option, value);
}

CURL *rs_curl_multi_next_done(CURLM *multi, CURLcode *result) {
    int left;
    for (CURLMsg *message; (message = library.curl_multi_info_read_(multi, &left)) != NULL;)
        if (message->msg == CURLMSG_DONE) {
            *result = message->data.result;
            return message->easy_handle;
        }
    return NULL;
}

CURLcode rs_curl_set_long(CURL *handle, CURLoption option, long value) {
    return library.curl_easy_setopt_(handle, option, value);
}

CURLcode rs_curl_set_string(CURL *handle, CURLoption option, const char *value) {
    return library.curl_easy_setopt_(handle, option, value);
}

CURLcode rs_curl_set_pointer(CURL *handle, CURLoption option, void *value) {
    return library.curl_easy_setopt_(handle, option, value);
}

CURLcode rs_curl_set_callback(CURL *handle, CURLoption option, rs_curl_callback value) {
    return library.curl_easy_setopt_(handle, option, value);
}

CURLcode rs_curl_set_watch(CURL *handle, rs_curl_watch watch, void *context) {
    library.curl_easy_setopt_(handle, CURLOPT_XFERINFODATA, context);
    library.curl_easy_setopt_(handle, CURLOPT_XFERINFOFUNCTION, watch);
    return library.curl_easy_setopt_(handle, CURLOPT_NOPROGRESS, 0L);
}

/* Options that are newer than the oldest libcurl, by their numbers: the libcurl that runs may be newer than the headers,
   and older. */
#define OPTION_QUICK_EXIT ((CURLoption)322)
#define OPTION_PROTOCOLS_STR ((CURLoption)10318)
#define OPTION_PROTOCOLS ((CURLoption)181)

CURLcode rs_curl_set_http_only(CURL *handle) {
    if (library.curl_easy_setopt_(handle, OPTION_PROTOCOLS_STR, "http,https") == CURLE_OK)
        return CURLE_OK;
    return library.curl_easy_setopt_(handle, OPTION_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
}

CURLcode rs_curl_set_quick_exit(CURL *handle) { return library.curl_easy_setopt_(handle, OPTION_QUICK_EXIT, 1L); }

CURLcode rs_curl_get_long(CURL *handle, CURLINFO info, long *value) {
    return library.curl_easy_getinfo_(handle, info, value);
}

CURLcode rs_curl_get_double(CURL *handle, CURLINFO info, double *value) {
    return library.curl_easy_getinfo_(handle, info, value);
}
