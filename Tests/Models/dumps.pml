/* The order in which a transaction changes a directory of dumps, and in which others read it.
 *
 * One writer commits two collections twice. A killer ends it at any step; the next transaction then completes or discards the
 * commit. Two readers read at any time; one of them, like serve, needs both collections of one state. Each read must end with
 * bundles and lock entries of the same state: the old one or the new one, never none. The steps have the names of the code
 * (DumpsTransaction):
 *
 *   stage    a bundle is packed beside the current one
 *   log      the redo log is written: the new lock file, the hash of the one that it replaces and, if dumps.yaml changes
 *            too, that of the old dumps.yaml. While dumps.yaml is that one, the log has no effect
 *   configure  dumps.yaml is replaced (rename), in every other commit
 *   name     a staged bundle gets its name (rename)
 *   lock     the lock file as a whole (rename)
 *   clear    the redo log is removed
 *   recover  finishCommit: the log's bundles get their names, then the lock file is replaced, then the log is removed
 *
 * A state is a number: 0 is the first, complete one; NONE is no file.
 *
 * Controls: with -DCLEAR_FIRST the redo log is removed before bundles have their names, with -DNO_LOG there is none, with
 * -DLOG_FIRST the log is written before all bundles are staged, with -DIMPATIENT a reader does not read again, with
 * -DBLIND the log has effect with any dumps.yaml. The check must reject each of them.
 */

#define COLLECTIONS 2
#define LAST 2
#define NONE 255

byte file[COLLECTIONS];           /* the bundle under its name */
byte staged[COLLECTIONS] = NONE;  /* the bundle beside it */
byte locked = 0;                  /* the lock file: all entries change in one step */
byte logged = NONE;               /* the redo log, and the lock file that it replaces */
byte replaces = NONE;
byte configured = 0;              /* dumps.yaml, and the one that the log replaces */
byte replaces_yaml = NONE;
bool killed = false;
bool done = false;

/* Only odd states change dumps.yaml. */
#define CONFIGURES(state) ((state) % 2)
#ifdef BLIND
#define TAKES_EFFECT(log, replaced, replaced_yaml, lock, yaml) (log != NONE && (log == lock || replaced == lock))
#else
#define TAKES_EFFECT(log, replaced, replaced_yaml, lock, yaml) \
    (log != NONE && (log == lock || replaced == lock && replaced_yaml != yaml))
#endif

inline stage(c, state) { if :: !killed -> staged[c] = state :: else fi }
inline log(state) { if :: !killed -> d_step { logged = state; replaces = locked; replaces_yaml = (CONFIGURES(state) -> configured : NONE) } :: else fi }
inline configure(state) { if :: !killed && CONFIGURES(state) -> configured = state :: else fi }
inline name(c) {
    if
    :: !killed -> d_step { if :: staged[c] != NONE -> file[c] = staged[c]; staged[c] = NONE :: else fi }
    :: else
    fi
}
inline lock(state) { if :: !killed -> locked = state :: else fi }
inline clear() { if :: !killed -> logged = NONE :: else fi }

inline finish(state) {
#ifdef CLEAR_FIRST
    clear();
#endif
    name(0);
    name(1);
    lock(state);
#ifndef CLEAR_FIRST
    clear();
#endif
}

inline commit(state) {
#ifdef LOG_FIRST
    log(state);
#endif
    stage(0, state);
    stage(1, state);
#ifndef NO_LOG
#ifndef LOG_FIRST
    log(state);
#endif
#endif
    configure(state);
    finish(state);
}

/* The beginning of a transaction. */
inline recover() {
    if
    :: TAKES_EFFECT(logged, replaces, replaces_yaml, locked, configured) -> finish(logged)
    :: else -> d_step { logged = NONE; staged[0] = NONE; staged[1] = NONE }
    fi;
    /* dumps.yaml and the lock file have changed together, or not at all. */
    assert(killed || (configured == 0) == (locked == 0))
}

active proctype writer() {
    byte state;
    state = 1;
    do
    :: state <= LAST ->
        recover();
        if
        :: locked >= state && !killed -> state = locked + 1
        :: else ->
            commit(state);
            if
            /* The killed run does not do the rest; the next one starts with its files. */
            :: killed -> killed = false
            :: else -> state++
            fi
        fi
    :: else -> break
    od;
    done = true
}

active proctype killer() {
    byte kills = 0;
    do
    :: kills < 2 && !done -> killed = true; kills++
    :: break
    od
}

/* A reader of one collection, and one of both. */
active [2] proctype reader() {
    byte c, first, last, entry, yaml, seen_log, seen_replaces, seen_yaml, bundle;
    bool found = false, whole;
    if
    :: _pid % 2 == 0 -> first = 0; last = 1
    :: else -> if :: first = 0 :: first = 1 fi; last = first
    fi;
    do
    :: found -> break
    :: else ->
        d_step { seen_log = logged; seen_replaces = replaces; seen_yaml = replaces_yaml }
        entry = locked;
        yaml = configured;
        if
        :: TAKES_EFFECT(seen_log, seen_replaces, seen_yaml, entry, yaml) -> entry = seen_log
        :: else -> seen_log = NONE
        fi;
        whole = true;
        c = first;
        do
        :: c > last -> break
        :: else ->
            bundle = NONE;
            if
            :: seen_log != NONE -> bundle = staged[c]
            :: else
            fi;
            /* The name comes last: a bundle that gets it now is found there. */
            if
            :: bundle != entry -> bundle = file[c]
            :: else
            fi;
            if :: bundle != entry -> whole = false :: else fi;
            c++
        od;
        if
        :: whole -> found = true
        :: else ->
#ifdef IMPATIENT
            assert(false)
#else
            /* Only something that has changed meanwhile is a reason to look again. */
            assert(locked != entry || logged != seen_log || configured != yaml || file[first] == entry && file[last] == entry)
#endif
        fi
    od
}
