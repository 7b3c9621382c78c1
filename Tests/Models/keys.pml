/* The order in which a key and its certificates are replaced, and in which others read them.
 *
 * Two writers renew twice each, under a lock. A killer ends them at any step; the next writer then completes the work. A
 * reader reads at any time; readers change nothing, so one represents all. Its read must end with a key and a chain of the
 * same state, the old or the new one. The steps have the names of KeyDirectory+Files.swift:
 *
 *   next     KeyDirectory.replace: both, in one file (rename)
 *   key      KeyDirectory.write: the key in its own file (rename)
 *   chain    KeyDirectory.write: the chain in its own file (rename)
 *   clear    KeyDirectory.settle: the one file is removed
 *
 * A state is a number: 0 is the first, complete one; NONE is no file.
 *
 * Controls: with -DNO_NEXT there is no file with both, with -DNO_LOCK writers work at once, with -DCLEAR_FIRST the file with
 * both is removed before each has its own, with -DIMPATIENT a reader does not read again. The check must reject each of them.
 */

#define NONE 255

byte key_file = 0;
byte chain_file = 0;
byte next_file = NONE;
bool locked = false;
bool killed[2];
byte running = 2;

#define step(action) if :: !killed[_pid] -> action :: else fi

inline settle() {
    both = next_file;
    if
    :: both != NONE ->
#ifdef CLEAR_FIRST
        step(next_file = NONE);
#endif
        step(key_file = both);
        step(chain_file = both);
        step(next_file = NONE)
    :: else
    fi
}

inline replace(state) {
#ifdef NO_NEXT
    step(key_file = state);
    step(chain_file = state)
#else
    step(next_file = state);
    settle()
#endif
}

/* The first two processes are the writers, so that their numbers are 0 and 1. */
active [2] proctype writer() {
    byte both, made = 0;
    do
    :: made < 2 ->
#ifndef NO_LOCK
        atomic { !locked -> locked = true };
#endif
        settle();
        replace(1 + 2 * made + _pid);
        atomic { locked = false; killed[_pid] = false; made++ }
    :: else -> break
    od;
    running--
}

active proctype killer() {
    byte kills = 0;
    do
    :: kills < 2 && running > 0 -> if :: killed[0] = true :: killed[1] = true fi; kills++
    :: break
    od
}

active proctype reader() {
    byte both, key, chain;
    byte key_before = NONE, chain_before = NONE;
    do
    :: both = next_file;
        if
        :: both != NONE -> break
        :: else
        fi;
        key = key_file;
        chain = chain_file;
        if
        :: key == chain -> break
        :: else ->
#ifdef IMPATIENT
            assert(false);
#endif
            /* If a second read gives the same result, the reader reports keys that do not belong together. */
            assert(!(key == key_before && chain == chain_before));
            key_before = key;
            chain_before = chain
        fi
    od
}
