#ifndef SWIFT_REMOTE_SETTINGS_CZSTD_H
#define SWIFT_REMOTE_SETTINGS_CZSTD_H

#include <stddef.h>

/* What this package needs of libzstd: one file as a delta to another, which is its raw prefix (RFC 8878, RFC 9842).

   libzstd is loaded at the first delta instead of being linked, as libcurl is, and apps do not depend on it. Its headers
   are not needed. Apart from rs_zstd_load, a function may be called only after libzstd was loaded. */

/* Loads libzstd, once for all threads. Returns 1 if it is there. Apple systems have none. */
int rs_zstd_load(void);

typedef struct rs_zstd_decoder rs_zstd_decoder;

/* Makes a decoder of one frame, which refers to the prefix; both the prefix and `output` must stay where they are until it
   is freed. The output is its window too, so that it has no memory of its own for that, and writes nowhere else.

   A frame with a window of more than 2 to the power of `most_window_log` bytes is refused. NULL if there is too little
   memory. */
rs_zstd_decoder *rs_zstd_decoder_make(
    const void *prefix, size_t prefix_size, void *output, size_t output_size, int most_window_log);
void rs_zstd_decoder_free(rs_zstd_decoder *decoder);

enum { RS_ZSTD_MORE = 0, RS_ZSTD_END = 1, RS_ZSTD_BAD = -1 };

/* Decodes more of the frame, from the input's byte `*consumed` on, and says where it is afterwards: at the end of the input
   (RS_ZSTD_MORE), or of the frame (RS_ZSTD_END), or at something that is no frame, or more than the output holds
   (RS_ZSTD_BAD). `*produced` is the number of bytes in the output. */
int rs_zstd_decode(
    rs_zstd_decoder *decoder, const void *input, size_t size, size_t *consumed, size_t *produced);

/* The most bytes that a frame of so many takes. */
size_t rs_zstd_bound(size_t size);

/* Encodes the input as one frame that refers to the prefix. Returns the frame's size, or 0 if it fails. */
size_t rs_zstd_encode(
    const void *prefix, size_t prefix_size, const void *input, size_t size, void *output, size_t room, int level,
    int window_log);

#endif
