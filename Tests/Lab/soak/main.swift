// The parts of Tests/Faults/soak that need the package: the server's author, who signs, and the apps, which read. Their
// clock is the process's, which the script moves.
//
//     soak author DIR
//     soak apps STORAGE DUMPS SERVER ROOT STARTS SYNCS SEED
//     soak resident STORAGE DUMPS SERVER ROOT
//
// `author` writes a dumps directory for `rsdump serve --watch`, and takes commands from standard input. `apps` starts
// so many apps one after another, of which so many percent sync. `resident` is an app that goes on; it syncs and reads
// at each line of standard input. All print what they wrote or saw, a line each: `COLLECTION TIMESTAMP
// SHA256-OF-THE-PAYLOAD`.

#if Lab
import SnapshotBundle

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Writes a line at once, so that what was seen before a process is killed is known.
func say(_ line: String) {
    let bytes = Array("\(line)\n".utf8)
    unsafe bytes.withUnsafeBytes { _ = unsafe systemWrite(1, $0.baseAddress, $0.count) }
}

let arguments = CommandLine.arguments
switch (arguments.dropFirst().first, arguments.count) {
case ("author", 3):
    var author = try SoakAuthor(directory: arguments[2])
    try author.run()
case ("apps", 9):
    guard let starts = Int(arguments[6]), let syncs = Int(arguments[7]), let seed = UInt64(arguments[8])
    else { exit(2) }
    let apps = try SoakApps(storage: arguments[2], dumps: arguments[3], server: arguments[4], root: arguments[5])
    try await apps.run(starts: starts, syncPercent: syncs, seed: seed)
case ("resident", 6):
    let apps = try SoakApps(storage: arguments[2], dumps: arguments[3], server: arguments[4], root: arguments[5])
    try await apps.reside()
default:
    say("usage: soak author|apps|resident …; see Tests/Lab/soak/main.swift")
    exit(2)
}
#else
print("soak was built without its trait; try: swift build --traits Lab --product soak")
#endif
