#ifndef SWIFT_REMOTE_SETTINGS_CCURL_H
#define SWIFT_REMOTE_SETTINGS_CCURL_H

#include <curl/curl.h>
#include <pthread.h>
#include <signal.h>

#if LIBCURL_VERSION_NUM < 0x074400
#error "libcurl 7.68 or newer is needed"
#endif

/* curl_easy_setopt, curl_easy_getinfo and curl_multi_setopt are variadic, which Swift cannot import. */

typedef size_t (*rs_curl_callback)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode rs_curl_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode rs_curl_set_string(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode rs_curl_set_pointer(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode rs_curl_set_callback(CURL *handle, CURLoption option, rs_curl_callback value) {
    return curl_easy_setopt(handle, option, value);
}

/* Nothing but HTTP and HTTPS. The option that takes names came with 7.85. */
static inline CURLcode rs_curl_set_http_only(CURL *handle) {
#if LIBCURL_VERSION_NUM >= 0x075500
    return curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    return curl_easy_setopt(handle, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

/* Ending a transfer does not wait for a name that is still being looked up. The option came with 7.87. */
static inline CURLcode rs_curl_set_quick_exit(CURL *handle) {
#if LIBCURL_VERSION_NUM >= 0x075700
    return curl_easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L);
#else
    (void)handle;
    return CURLE_OK;
#endif
}

static inline CURLcode rs_curl_get_long(CURL *handle, CURLINFO info, long *value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode rs_curl_get_double(CURL *handle, CURLINFO info, double *value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLMcode rs_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

/* The result of a finished transfer; its data is a union. */
static inline CURLcode rs_curl_message_result(const CURLMsg *message) {
    return message->data.result;
}

/* Starts a thread that takes no signal, SIGPIPE included, which TLS libraries raise by writing to a closed connection:
   so that no handler is needed. Returns 0 or an errno value. */
static inline int rs_start_thread(void *(*body)(void *), void *context) {
    sigset_t all, before;
    pthread_attr_t attributes;
    pthread_t thread;
    int status = pthread_attr_init(&attributes);
    if (status != 0)
        return status;
    sigfillset(&all);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    status = pthread_create(&thread, &attributes, body, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return status;
}

#endif
