#ifndef SWIFT_REMOTE_SETTINGS_CZSTD_H
#define SWIFT_REMOTE_SETTINGS_CZSTD_H

#include <stddef.h>

/* The functions of libzstd that this package uses: they encode a file as a delta to another file, which is used as the
   raw prefix (RFC 8878, RFC 9842).

   Like libcurl, libzstd is loaded when it is first needed, so apps neither link it nor need its headers. Apart from
   rs_zstd_load, a function may be called only after rs_zstd_load has returned 1. */

/* Loads libzstd, once for all threads. Returns 1 if it is available. On Apple systems, it never is. */
int rs_zstd_load(void);

typedef struct rs_zstd_decoder rs_zstd_decoder;

/* Creates a decoder for one frame that refers to the prefix. The prefix and `output` must remain valid and unmoved
   until the decoder is freed. The decoder uses `output` as its window, so it allocates no separate window.

   It refuses a frame with a window of more than 2 to the power of `most_window_log` bytes. Returns NULL if there is not
   enough memory. */
rs_zstd_decoder *rs_zstd_decoder_make(
    const void *prefix, size_t prefix_size, void *output, size_t output_size, int most_window_log);
void rs_zstd_decoder_free(rs_zstd_decoder *decoder);

enum { RS_ZSTD_MORE = 0, RS_ZSTD_END = 1, RS_ZSTD_BAD = -1 };

/* Continues decoding at the input's byte `*consumed`. Returns RS_ZSTD_MORE if the frame continues after the input,
   RS_ZSTD_END at the end of the frame, and RS_ZSTD_BAD if the frame is invalid or does not fit into the output. Sets
   `*produced` to the number of bytes in the output. */
int rs_zstd_decode(
    rs_zstd_decoder *decoder, const void *input, size_t size, size_t *consumed, size_t *produced);

/* Returns the largest possible size of a frame that encodes `size` bytes. */
size_t rs_zstd_bound(size_t size);

/* Encodes the input as one frame that refers to the prefix. Returns the frame's size, or 0 if it fails. */
size_t rs_zstd_encode(
    const void *prefix, size_t prefix_size, const void *input, size_t size, void *output, size_t room, int level,
    int window_log);

#endif
