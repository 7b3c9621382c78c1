#ifndef SWIFT_REMOTE_SETTINGS_CZLIB_H
#define SWIFT_REMOTE_SETTINGS_CZLIB_H

#include <zlib.h>

/* inflateInit2 and deflateInit2 are macros, which Swift cannot import. 16 more than the window's size makes zlib expect
   a gzip header and check the CRC. */
static inline int rs_inflate_init(z_stream *stream, int is_gzip) {
    return inflateInit2(stream, is_gzip ? 16 + MAX_WBITS : -MAX_WBITS);
}

static inline int rs_deflate_init_raw(z_stream *stream, int level) {
    return deflateInit2(stream, level, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
}

#endif
