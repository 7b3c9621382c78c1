/* The order in which a sync stores a catalogue, and in which others read it.
 *
 * Two processes bring two collections from one catalogue to the next; the server publishes meanwhile. A killer ends a process at
 * any step; whatever it has left stays, and its lock is released. The system removes any subset of the files at one moment. A
 * reader looks at both collections at any moment. Each of its readings must end with states that one catalogue lists, and never
 * with an earlier catalogue than the one before, unless files were removed; then it may find less, and nothing mixed.
 *
 *   look     CatalogueSync.state: which states are here already, before the lock is taken
 *   write    StorageDirectory.save: the files of the states that are not here
 *   commit   StorageDirectory.save: the index is replaced (rename): from now on the catalogue is visible
 *   clean    StorageDirectory.removeStates: what the index does not name
 *
 * Kills and removals are explored one after the other: -DKILLS=0 -DPURGES=1. Both at once take minutes and gigabytes.
 *
 * A catalogue is a number, and so is a state; the catalogue is the third collection. The first collection changes with each
 * catalogue, the second one with each other one. If the index is lost, the newest files are what it named.
 *
 * Controls: with -DCOMMIT_FIRST the index is replaced before the states are written; with -DCLEAN_FIRST the old states are removed
 * before the index is replaced; with -DIMPATIENT a reader that finds a file gone does not read the index again; with -DTRUSTING a
 * process does not look again, once it has the lock, at the states that it found here before; with -DNO_SUCCESSION it does not
 * look whether a later catalogue was stored meanwhile. Each of them must be found wrong.
 */

#define LAST 2
#ifndef KILLS
#define KILLS 1
#endif
#ifndef PURGES
#define PURGES 0
#endif
#ifdef TRUSTING
#define ROUNDS 2   /* the first of them leaves what the second one trusts */
#else
#define ROUNDS 1
#endif
#ifndef READINGS
#define READINGS 1
#endif
#define NONE 255
#define STATE(c, catalogue) ((c) == 1 -> (catalogue) / 2 : (catalogue))
#define THERE(c, state) ((files[c] >> (state)) & 1)

byte served = 0;           /* the server's catalogue */
byte index[3];             /* the states that the index names; NONE if it is lost */
byte files[3] = 1;         /* the states that are there, a bit each */
bool locked = false;
byte kills = 0, purges = 0;

/* Whether the process is killed here. It holds the lock, which the system releases. */
inline may_die() {
    if
    :: !dead && kills < KILLS -> kills++; locked = false; dead = true
    :: true
    fi
}

/* What the index names: itself, or the newest files. */
#define NEWEST(c) (THERE(c, 2) -> 2 : (THERE(c, 1) -> 1 : (THERE(c, 0) -> 0 : NONE)))
#define NAMED(c) (index[2] != NONE -> index[c] : NEWEST(c))

inline write(c) {
    atomic {
    may_die();
    if
#ifdef TRUSTING
    :: !dead && fetched[c] -> files[c] = files[c] | (1 << STATE(c, target))
#else
    :: !dead && !THERE(c, STATE(c, target)) -> files[c] = files[c] | (1 << STATE(c, target))
#endif
    :: else
    fi
    }
}

inline commit() {
    atomic {
    may_die();
    if
    :: !dead -> d_step { index[0] = STATE(0, target); index[1] = STATE(1, target); index[2] = target }
    :: else
    fi
    }
}

inline clean(c) {
    atomic {
    may_die();
    if :: !dead -> files[c] = files[c] & (1 << STATE(c, target)) :: else fi
    }
}

active [2] proctype process() {
    byte target, present;
    bool dead = false;
    bool fetched[3];
    byte rounds = 0;
    do
    :: rounds < ROUNDS ->
        rounds++;
        dead = false;
        /* look */
        d_step {
            target = served;
            fetched[0] = !THERE(0, STATE(0, target)); fetched[1] = !THERE(1, STATE(1, target)); fetched[2] = true
        };
        atomic {
            !locked -> locked = true;
            present = NAMED(2);
            if :: present != NONE && !THERE(2, present) -> present = NONE :: else fi
        };
        if
#ifndef NO_SUCCESSION
        :: present != NONE && target < present -> locked = false
#endif
        :: else ->
#ifdef COMMIT_FIRST
            commit();
#endif
#ifdef CLEAN_FIRST
            clean(0); clean(1); clean(2);
#endif
            write(0); write(1); write(2);
#ifndef COMMIT_FIRST
            commit();
#endif
            clean(0); clean(1); clean(2);
            atomic {
                if :: !dead -> locked = false :: else fi;
                dead = false; target = 0; present = 0; fetched[0] = false; fetched[1] = false; fetched[2] = false
            }
        fi
    :: else -> break
    od
}

active proctype server() {
    do
    :: served < LAST -> served++
    :: else -> break
    od
}

/* The system removes any files, at one moment. */
active proctype system() {
    if
    :: purges < PURGES ->
        atomic {
            purges++;
            if :: d_step { index[0] = NONE; index[1] = NONE; index[2] = NONE } :: skip fi;
            if :: files[0] = 0 :: skip fi;
            if :: files[1] = 0 :: skip fi;
            if :: files[2] = 0 :: skip fi
        }
    :: true
    fi
}

active proctype reader() {
    byte view, last = 0, readings = 0;
    byte named[3];
    bool whole;
    do
    :: readings < READINGS ->
again:  skip;
        d_step {
            named[0] = NAMED(0); named[1] = NAMED(1); named[2] = NAMED(2); view = named[2];
            whole = view != NONE
        };
        d_step { if :: whole -> whole = THERE(2, view) :: else fi };
        d_step { if :: whole -> whole = named[0] == STATE(0, view) && THERE(0, STATE(0, view)) :: else fi };
        d_step { if :: whole -> whole = named[1] == STATE(1, view) && THERE(1, STATE(1, view)) :: else fi };
        if
        :: whole -> assert(view >= last || purges > 0); last = view; readings++
        :: else ->
#ifndef IMPATIENT
            if
            :: d_step { named[0] != NAMED(0) || named[1] != NAMED(1) || named[2] != NAMED(2) } -> goto again
            :: else -> skip
            fi;
#endif
            /* Less than a catalogue is what a removal leaves, and nothing else does. */
            assert(purges > 0);
            readings++
        fi
    :: else -> break
    od
}
