import FileStorage
import RemoteSettingsModel

/// Writes a file as a whole, for commands: either all of it is there under its name, or what was there before.
public enum WholeFile {
    /// - Throws: ``FileError``.
    public static func write(_ content: [UInt8], to path: String) throws(FileError) {
        try FileStore.replace(path, with: Bytes(content))
    }

    /// Writes what `body` gives, piece by piece; where it throws, what was there before stays.
    public static func write(
        to path: String, _ body: (_ write: (Span<UInt8>) throws -> Void) throws -> Void
    ) throws {
        let temporary = path + ".tmp"
        let file = try WritableFile(creating: temporary)
        do {
            try body { try file.write($0) }
            try file.finish(flushing: true)
            try FileStore.rename(temporary, to: path)
        } catch {
            file.abandon()
            try? FileStore.remove(temporary)
            throw error
        }
    }
}
