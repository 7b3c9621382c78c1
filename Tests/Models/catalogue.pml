/* The order in which a sync stores a catalogue, and in which others read it.
 *
 * Two processes bring two collections from one catalogue to the next; the server publishes meanwhile. A killer ends a process at
 * any step; whatever it has left stays, and its lock is released. A reader looks at both collections at any moment. Each of
 * its readings must end with states that one catalogue lists, and never with an earlier catalogue than the one before. The steps
 * have the names that they have in CatalogueStore.swift:
 *
 *   look     CatalogueSync.state: which states are here already, before the lock is taken
 *   settle   a staged file gets the name of the state that it replaces (rename)
 *   stage    a new state is written beside the present one
 *   commit   the catalogue is replaced (rename): from now on the catalogue is visible
 *
 * One kill and one reading are explored in each run of the tests; -DKILLS=2 -DREADINGS=2 takes two minutes and 4 GiB.
 *
 * A catalogue is a number, and so is a state. The first collection changes with each catalogue, the second one with each other one.
 *
 * Controls: with -DCOMMIT_FIRST the catalogue is replaced before anything is staged; with -DNO_STAGED a reader does not look
 * for staged files; with -DIMPATIENT it does not read the catalogue again; with -DTRUSTING a process does not look again, once
 * it has the lock, at the states that it found here before; with -DNO_SUCCESSION it does not look whether a later catalogue was
 * stored meanwhile. Each of them must be found wrong.
 */

#define LAST 2
#ifndef KILLS
#define KILLS 1
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef READINGS
#define READINGS 1
#endif
#define NONE 255
#define STATE(c, catalogue) (c == 0 -> catalogue : catalogue / 2)

byte served = 0;           /* the server's catalogue */
byte catalogue = 0;        /* the stored catalogue */
byte file[2];              /* the states under their names */
byte staged[2] = NONE;     /* the states that wait for their names */
bool locked = false;
byte kills = 0;

/* Whether the process is killed here. It holds the lock, which the system releases. */
inline may_die() {
    if
    :: !dead && kills < KILLS -> atomic { kills++; locked = false; dead = true }
    :: true
    fi
}

inline settle(c) {
    may_die();
    if
    :: !dead && staged[c] != NONE -> d_step { file[c] = staged[c]; staged[c] = NONE }
    :: else
    fi
}

/* What an earlier process has left: committed, wanted by the next catalogue, or neither. */
inline leftover(c) {
    may_die();
    if
    :: dead || staged[c] == NONE
    :: else ->
        if
        :: staged[c] == STATE(c, catalogue) -> d_step { file[c] = staged[c]; staged[c] = NONE }
        :: else ->
            if
            :: staged[c] == STATE(c, target) -> skip
            :: else -> staged[c] = NONE
            fi
        fi
    fi
}

inline stage(c) {
    may_die();
    if
    :: dead -> skip
#ifndef TRUSTING
    :: !dead && (fetched[c] || (file[c] != STATE(c, target) && staged[c] != STATE(c, target))) ->
        staged[c] = STATE(c, target)
    :: else
#else
    :: !dead && fetched[c] -> staged[c] = STATE(c, target)
    :: else
#endif
    fi
}

inline commit() {
    may_die();
    if :: !dead -> catalogue = target :: else fi
}

active [2] proctype process() {
    byte target;
    bool dead = false;
    bool fetched[2];
    byte rounds = 0;
    do
    :: rounds < ROUNDS ->
        rounds++;
        dead = false;
        target = served;
        /* look */
        d_step { fetched[0] = file[0] != STATE(0, target) && staged[0] != STATE(0, target) };
        d_step { fetched[1] = file[1] != STATE(1, target) && staged[1] != STATE(1, target) };
        atomic { !locked -> locked = true };
        if
#ifndef NO_SUCCESSION
        :: target < catalogue -> locked = false
#endif
        :: else ->
            leftover(0);
            leftover(1);
#ifdef COMMIT_FIRST
            commit();
#endif
            stage(0);
            stage(1);
#ifndef COMMIT_FIRST
            commit();
#endif
            if :: !dead -> settle(0) :: else fi;
            if :: !dead -> settle(1) :: else fi;
            if :: !dead -> locked = false :: else fi
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

inline find(c) {
    found = false;
    if
    :: file[c] == STATE(c, view) -> found = true
    :: else ->
#ifndef NO_STAGED
        if
        :: staged[c] == STATE(c, view) -> found = true
        :: else ->
            if
            :: file[c] == STATE(c, view) -> found = true
            :: else
            fi
        fi
#else
        skip
#endif
    fi
}

active proctype reader() {
    byte view, last = 0, readings = 0;
    bool found;
    do
    :: readings < READINGS ->
        view = catalogue;
again:
        find(0);
        if
        :: found -> find(1)
        :: else
        fi;
        if
        :: found -> assert(view >= last); last = view; readings++
        :: else ->
#ifdef IMPATIENT
            assert(false)
#else
            /* Only a catalogue that has changed meanwhile is a reason to look again. */
            assert(catalogue != view);
            view = catalogue;
            goto again
#endif
        fi
    :: else -> break
    od
}
