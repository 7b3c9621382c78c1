/* The order in which a refresh changes a directory of dumps, and in which others read it.
 *
 * One writer refreshes two collections twice. A killer ends it at any step; the next run then repairs what is left. Two
 * readers look at any moment. Each of their reads must end with a bundle and the lock entry of the same state: the old
 * one or the new one, never none. The steps have the names that they have in the code:
 *
 *   note     DumpsDirectory.writePending: what the lock is going to say of a bundle
 *   name     DumpsDirectory.replaceBundle: the finished bundle gets its name (rename)
 *   lock     DumpsDirectory.writeLock: the lock as a whole (rename)
 *   clear    DumpsDirectory.finishWork: the notes are removed
 *   recover  DumpsDirectory.recoveredLock: noted bundles that have their names go into the lock
 *
 * A state is a number: 0 is the first one, which is whole; NONE is no note.
 *
 * Controls: with -DLOCK_FIRST the lock is written before bundles have their names, with -DNO_NOTES nothing is noted, with
 * -DIMPATIENT a reader does not read the lock again. Each of them must be found wrong.
 */

#define COLLECTIONS 2
#define LAST 2
#define NONE 255

byte file[COLLECTIONS];    /* the bundle under its name */
byte locked[COLLECTIONS];  /* the lock's entry: all of them change in one step */
byte noted[COLLECTIONS] = NONE;
bool killed = false;
bool done = false;

inline note(c, state) { if :: !killed -> noted[c] = state :: else fi }
inline name(c, state) { if :: !killed -> file[c] = state :: else fi }
inline lock(first, second) { if :: !killed -> d_step { locked[0] = first; locked[1] = second } :: else fi }
inline clear(c) { if :: !killed -> noted[c] = NONE :: else fi }

inline refresh(state) {
#ifdef LOCK_FIRST
    lock(state, state);
#endif
#ifndef NO_NOTES
    note(0, state);
    note(1, state);
#endif
    name(0, state);
    name(1, state);
#ifndef LOCK_FIRST
    lock(state, state);
#endif
    clear(0);
    clear(1);
}

/* What a run begins with. The lock's next value is worked out before anything is written. */
inline recover() {
    d_step {
        next0 = locked[0];
        next1 = locked[1];
        if :: noted[0] != NONE && file[0] == noted[0] -> next0 = noted[0] :: else fi;
        if :: noted[1] != NONE && file[1] == noted[1] -> next1 = noted[1] :: else fi;
    }
    lock(next0, next1);
}

active proctype writer() {
    byte next0, next1, state;
    state = 1;
    do
    :: state <= LAST ->
        recover();
        refresh(state);
        if
        /* The killed run ends without having done the rest; the next one begins with what it left. */
        :: killed -> killed = false
        :: else -> state++
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

active [2] proctype reader() {
    byte c, entry, bundle, note_read, again;
    bool found = false;
    if :: c = 0 :: c = 1 fi;
    entry = locked[c];
    do
    :: found -> break
    :: else ->
        bundle = file[c];      /* opened: it stays, whatever becomes of the name */
        if
        :: bundle == entry -> found = true
        :: else ->
            note_read = noted[c];
            if
            /* Opened again: it may have another name by now. */
            :: note_read != NONE && note_read == file[c] -> found = true
            :: else ->
                again = locked[c];
#ifdef IMPATIENT
                assert(again == file[c]);
                found = true
#else
                /* Only a lock that has changed meanwhile is a reason to look again. */
                assert(again != entry);
                entry = again
#endif
            fi
        fi
    od
}
