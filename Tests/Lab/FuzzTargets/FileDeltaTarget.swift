import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

extension FuzzTarget {
    static let fileDelta = FuzzTarget(
        "file-delta", "a delta of an attachment; what is accepted is the file that was asked for, however it is fed",
        words: ["\u{28}", "dcz"],
        seeds: { _ in
            guard let delta = FileDelta.made(of: newFile, from: oldFile, named: SHA256Digest(hashing: oldFile)) else {
                throw Finding("there is no libzstd")
            }
            return [delta, Array(delta.prefix(FileDelta.headBytes)), delta + delta]
        }
    ) { input in
        let whole = decoded([input])
        try require(whole == nil || whole == newFile.array, "a wrong file was accepted")
        try require(decoded(input.map { [$0] }) == whole, "the outcome differs when fed byte by byte")
    }

    private static let oldFile = Bytes(utf8: (0..<400).map { "||tracker-\($0 * 7_919 % 10_007).example^\n" }.joined())
    private static let newFile = Bytes(utf8: oldFile.text.replacing("9.example", with: "9.test"))

    private static func decoded(_ pieces: [[UInt8]]) -> [UInt8]? {
        let held = HeldFile(
            oldFile, digest: SHA256Digest(hashing: oldFile), location: "a/b", newer: SHA256Digest(hashing: newFile))
        guard let decoder = try? DeltaDecoder(from: held, size: newFile.count) else { return nil }
        do {
            for piece in pieces { try decoder.decode(piece) }
            try decoder.finish()
        } catch {
            return nil
        }
        return decoder.piece(at: 0)
    }
}
