#ifndef SWIFT_REMOTE_SETTINGS_CCURL_H
#define SWIFT_REMOTE_SETTINGS_CCURL_H

#include <curl/curl.h>

#if LIBCURL_VERSION_NUM < 0x074400
#error "libcurl 7.68 or newer is needed"
#endif

/* libcurl is loaded at the first request instead of being linked. Linked, it and the thirty or so libraries that it
   depends on would cost every start of every app 5 to 7 ms, also of those that never ask a server.

   Functions that are variadic in C, and unions, which Swift cannot import, have plain forms here. Apart from
   rs_curl_load, each function is libcurl's function of that name, and may be called only after libcurl was loaded. */

/* Loads libcurl and initialises it, once for all threads. Returns NULL, or a text that says what went wrong. */
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

/* The next transfer that has ended, and how it did; NULL where there is none. */
CURL *rs_curl_multi_next_done(CURLM *multi, CURLcode *result);

typedef size_t (*rs_curl_callback)(char *bytes, size_t size, size_t count, void *context);

CURLcode rs_curl_set_long(CURL *handle, CURLoption option, long value);
CURLcode rs_curl_set_string(CURL *handle, CURLoption option, const char *value);
CURLcode rs_curl_set_pointer(CURL *handle, CURLoption option, void *value);
CURLcode rs_curl_set_callback(CURL *handle, CURLoption option, rs_curl_callback value);
/* Nothing but HTTP and HTTPS. */
CURLcode rs_curl_set_http_only(CURL *handle);
/* The end of a transfer does not wait for a name that is still being looked up. No effect before libcurl 7.87. */
CURLcode rs_curl_set_quick_exit(CURL *handle);

CURLcode rs_curl_get_long(CURL *handle, CURLINFO info, long *value);
CURLcode rs_curl_get_double(CURL *handle, CURLINFO info, double *value);

#endif
