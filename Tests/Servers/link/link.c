/* link NEAR FAR: a link between two tun devices, which this program makes. It holds each packet for a delay and lets packets
 * pass at a rate, through a bounded queue that drops what comes when it is full (drop tail), the same in each direction.
 *
 * The first line of standard input, and each later one, sets the link: microseconds of delay one way, bits a second, bytes
 * of queue. What a packet counts is its IP length and 38 bytes, as on Ethernet with preamble, checksum and gap. At the end of
 * the input the program ends, and with it the devices. For kernels without netem.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { FRAMING = 38, LONGEST = 1600, PLACES = 1 << 15, TICK = 200000 /* nanoseconds */ };

struct packet {
    int64_t sent, due; /* When the last bit leaves the queue, and when it arrives: nanoseconds. */
    int length;
    unsigned char bytes[LONGEST];
};

struct direction {
    int from, to;
    struct packet *packets; /* A ring. */
    unsigned first, unsent, end;
    int64_t free, queued; /* When the line is free, and the bytes that wait for it. */
    unsigned long dropped;
};

static int64_t delay, rate, queue;

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void fail(const char *what) {
    fprintf(stderr, "link: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int device(const char *name) {
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    int file = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) fail("/dev/net/tun");
    strncpy(request.ifr_name, name, IFNAMSIZ - 1);
    if (ioctl(file, TUNSETIFF, &request) < 0) fail(name);
    return file;
}

/* Takes what the device has. */
static void take(struct direction *line, int64_t at) {
    for (;;) {
        while (line->unsent != line->end && line->packets[line->unsent % PLACES].sent <= at) {
            line->queued -= line->packets[line->unsent++ % PLACES].length + FRAMING;
        }
        struct packet *next = &line->packets[line->end % PLACES];
        unsigned char ignored[LONGEST];
        int isFull = line->end - line->first == PLACES;
        ssize_t length = read(line->from, isFull ? ignored : next->bytes, LONGEST);
        if (length <= 0) return;
        if (isFull || line->queued + length + FRAMING > queue) {
            line->dropped++;
            continue;
        }
        if (line->free < at) line->free = at;
        line->free += (length + FRAMING) * INT64_C(8000000000) / rate;
        line->queued += length + FRAMING;
        next->length = length;
        next->sent = line->free;
        next->due = line->free + delay;
        line->end++;
    }
}

static void give(struct direction *line, int64_t at) {
    while (line->first != line->end && line->packets[line->first % PLACES].due <= at) {
        struct packet *packet = &line->packets[line->first++ % PLACES];
        /* Fails while the device is down; a packet is lost then. */
        if (write(line->to, packet->bytes, packet->length) < 0) line->dropped++;
        if (line->first > line->unsent) {
            line->queued -= packet->length + FRAMING;
            line->unsent = line->first;
        }
    }
}

static int set(void) {
    char line[100] = {0};
    long long microseconds, bits, bytes;
    if (read(0, line, sizeof line - 1) <= 0) return 0;
    if (sscanf(line, "%lld %lld %lld", &microseconds, &bits, &bytes) != 3 || bits <= 0) {
        fprintf(stderr, "link: expected microseconds, bits a second and bytes, found %s", line);
        exit(2);
    }
    delay = microseconds * 1000, rate = bits, queue = bytes;
    printf("set\n");
    return fflush(stdout) == 0;
}

int main(int count, char **arguments) {
    if (count != 3) return fprintf(stderr, "usage: link NEAR FAR\n"), 2;
    prctl(PR_SET_TIMERSLACK, 1000);
    int near = device(arguments[1]), far = device(arguments[2]);
    struct direction lines[2] = {{.from = near, .to = far}, {.from = far, .to = near}};
    for (int side = 0; side < 2; side++) {
        lines[side].packets = malloc(PLACES * sizeof(struct packet));
        if (!lines[side].packets) fail("memory");
    }
    if (!set()) return 0;
    for (;;) {
        int64_t at = now();
        int isBusy = 0;
        for (int side = 0; side < 2; side++) {
            take(&lines[side], at);
            give(&lines[side], at);
            isBusy |= lines[side].first != lines[side].end;
        }
        /* While packets are on their way the devices are looked at every TICK, not for each packet: else this program would
         * take half a core from what is measured. */
        struct timespec tick = {.tv_nsec = TICK};
        struct pollfd files[3] = {{0, POLLIN, 0}, {near, POLLIN, 0}, {far, POLLIN, 0}};
        if (ppoll(files, isBusy ? 1 : 3, isBusy ? &tick : NULL, NULL) < 0 && errno != EINTR) fail("ppoll");
        if (files[0].revents && !set()) {
            fprintf(stderr, "link: %lu packets dropped on the way there, %lu on the way back\n",
                    lines[0].dropped, lines[1].dropped);
            return 0;
        }
    }
}
