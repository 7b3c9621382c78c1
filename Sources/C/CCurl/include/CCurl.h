#ifndef SWIFT_REMOTE_SETTINGS_CCURL_H
#define SWIFT_REMOTE_SETTINGS_CCURL_H

#include <curl/curl.h>

#if LIBCURL_VERSION_NUM < 0x074400
#error "libcurl 7.68 or newer is needed"
#endif

/* libcurl is loaded at the first request instead of being linked. Linking it, and the thirty or so libraries that it
   depends on, would add 5 to 7 ms to every launch of every app, even if the app never sends a request.

   Swift cannot import libcurl's variadic functions and its unions, so this header declares plain functions for them.
   Apart from rs_curl_load, each function calls libcurl, and may be called only after rs_curl_load has succeeded. */

/* Loads and initializes libcurl, once for all threads. Returns NULL, or a description of the error. */
const char *rs_curl_load(void);

CURL *rs_curl_easy_init(void);
void rs_curl_easy_cleanup(CURL *handle);
CURLcode rs_curl_easy_pause(CURL *handle, int mask);
const char *rs_curl_easy_strerror(CURLcode result);
struct curl_slist *rs_curl_slist_append(struct curl_slist *list, const char *text);
void rs_curl_slist_free_all(struct curl_slist *list);

CURLM *rs_curl_multi_init(void);
CURLMcode rs_curl_multi_cleanup(CURLM *multi);
CURLMcode rs_curl_multi_add_handle(CURLM *multi, CURL *handle);
CURLMcode rs_curl_multi_remove_handle(CURLM *multi, CURL *handle);
CURLMcode rs_curl_multi_perform(CURLM *multi, int *running);
CURLMcode rs_curl_multi_poll(CURLM *multi, int milliseconds);
CURLMcode rs_curl_multi_wakeup(CURLM *multi);
CURLMcode rs_curl_multi_set_long(CURLM *multi, CURLMoption option, long value);

/* Returns the next completed transfer and stores its result in `result`. Returns NULL if there is none. */
CURL *rs_curl_multi_next_done(CURLM *multi, CURLcode *result);

typedef size_t (*rs_curl_callback)(char *bytes, size_t size, size_t count, void *context);

CURLcode rs_curl_set_long(CURL *handle, CURLoption option, long value);
CURLcode rs_curl_set_string(CURL *handle, CURLoption option, const char *value);
CURLcode rs_curl_set_pointer(CURL *handle, CURLoption option, void *value);
CURLcode rs_curl_set_callback(CURL *handle, CURLoption option, rs_curl_callback value);
/* Sets a function that is called whenever libcurl has done something, even if it has only read bytes that it discards.
   If it returns anything but 0, the transfer fails with CURLE_ABORTED_BY_CALLBACK. */
typedef int (*rs_curl_watch)(void *context, curl_off_t, curl_off_t, curl_off_t, curl_off_t);
CURLcode rs_curl_set_watch(CURL *handle, rs_curl_watch watch, void *context);
/* Allows only HTTP and HTTPS URLs. */
CURLcode rs_curl_set_http_only(CURL *handle);
/* Lets a transfer end without waiting for an unfinished DNS lookup. Has no effect before libcurl 7.87. */
CURLcode rs_curl_set_quick_exit(CURL *handle);

CURLcode rs_curl_get_long(CURL *handle, CURLINFO info, long *value);
CURLcode rs_curl_get_double(CURL *handle, CURLINFO info, double *value);

#endif
