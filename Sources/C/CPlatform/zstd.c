#include "rs_zstd.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

/* As in zstd.h, stable since 1.4. */
typedef struct ZSTD_DCtx_s ZSTD_DCtx;
typedef struct ZSTD_CCtx_s ZSTD_CCtx;
typedef struct {
    const void *src;
    size_t size;
    size_t pos;
} ZSTD_inBuffer;
typedef struct {
    void *dst;
    size_t size;
    size_t pos;
} ZSTD_outBuffer;

enum {
    c_compressionLevel = 100,
    c_windowLog = 101,
    c_enableLongDistanceMatching = 160,
    d_windowLogMax = 100,
    /* ZSTD_d_stableOutBuffer */
    d_stableOutBuffer = 1001,
};

static struct {
    unsigned (*isError)(size_t);
    ZSTD_DCtx *(*createDCtx)(void);
    size_t (*freeDCtx)(ZSTD_DCtx *);
    size_t (*DCtx_setParameter)(ZSTD_DCtx *, int, int);
    size_t (*DCtx_refPrefix)(ZSTD_DCtx *, const void *, size_t);
    size_t (*decompressStream)(ZSTD_DCtx *, ZSTD_outBuffer *, ZSTD_inBuffer *);
    ZSTD_CCtx *(*createCCtx)(void);
    size_t (*freeCCtx)(ZSTD_CCtx *);
    size_t (*CCtx_setParameter)(ZSTD_CCtx *, int, int);
    size_t (*CCtx_refPrefix)(ZSTD_CCtx *, const void *, size_t);
    size_t (*compress2)(ZSTD_CCtx *, void *, size_t, const void *, size_t);
    size_t (*compressBound)(size_t);
} library;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int is_loaded;

static void load(void) {
#ifndef __APPLE__
    void *loaded = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    if (loaded == NULL)
        return;
#define FIND(name)                                                                                                    \
    library.name = (__typeof__(library.name))dlsym(loaded, "ZSTD_" #name);                                            \
    if (library.name == NULL)                                                                                         \
        return;
    FIND(isError)
    FIND(createDCtx)
    FIND(freeDCtx)
    FIND(DCtx_setParameter)
    FIND(DCtx_refPrefix)
    FIND(decompressStream)
    FIND(createCCtx)
    FIND(freeCCtx)
    FIND(CCtx_setParameter)
    FIND(CCtx_refPrefix)
    FIND(compress2)
    FIND(compressBound)
    is_loaded = 1;
#endif
}

int rs_zstd_load(void) {
    pthread_once(&once, load);
    return is_loaded;
}

struct rs_zstd_decoder {
    ZSTD_DCtx *context;
    ZSTD_outBuffer output;
};

rs_zstd_decoder *rs_zstd_decoder_make(
    const void *prefix, size_t prefix_size, void *output, size_t output_size, int most_window_log) {
    rs_zstd_decoder *decoder = malloc(sizeof *decoder);
    ZSTD_DCtx *context = decoder == NULL ? NULL : library.createDCtx();
    if (context == NULL || library.isError(library.DCtx_setParameter(context, d_windowLogMax, most_window_log)) ||
        library.isError(library.DCtx_setParameter(context, d_stableOutBuffer, 1)) ||
        library.isError(library.DCtx_refPrefix(context, prefix, prefix_size))) {
        if (context != NULL)
            library.freeDCtx(context);
        free(decoder);
        return NULL;
    }
    decoder->context = context;
    decoder->output = (ZSTD_outBuffer){output, output_size, 0};
    return decoder;
}

void rs_zstd_decoder_free(rs_zstd_decoder *decoder) {
    library.freeDCtx(decoder->context);
    free(decoder);
}

int rs_zstd_decode(
    rs_zstd_decoder *decoder, const void *bytes, size_t size, size_t *consumed, size_t *produced) {
    ZSTD_inBuffer input = {bytes, size, *consumed};
    for (;;) {
        size_t before = input.pos, written = decoder->output.pos;
        size_t left = library.decompressStream(decoder->context, &decoder->output, &input);
        *consumed = input.pos;
        *produced = decoder->output.pos;
        if (library.isError(left))
            return RS_ZSTD_BAD;
        if (left == 0)
            return RS_ZSTD_END;
        if (input.pos == before && decoder->output.pos == written)
            return input.pos == size ? RS_ZSTD_MORE : RS_ZSTD_BAD;
    }
}

size_t rs_zstd_bound(size_t size) { return library.compressBound(size); }

size_t rs_zstd_encode(
    const void *prefix, size_t prefix_size, const void *input, size_t size, void *output, size_t room, int level,
    int window_log) {
    ZSTD_CCtx *context = library.createCCtx();
    if (context == NULL)
        return 0;
    size_t written = 0;
    if (!library.isError(library.CCtx_setParameter(context, c_compressionLevel, level)) &&
        !library.isError(library.CCtx_setParameter(context, c_windowLog, window_log)) &&
        !library.isError(library.CCtx_setParameter(context, c_enableLongDistanceMatching, 1)) &&
        !library.isError(library.CCtx_refPrefix(context, prefix, prefix_size))) {
        written = library.compress2(context, output, room, input, size);
        if (library.isError(written))
            written = 0;
    }
    library.freeCCtx(context);
    return written;
}
