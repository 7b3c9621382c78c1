import RemoteSettingsModel

/// A file's name in its directory, or a path, as the bytes that the system uses. Unlike a `String`, it need not be
/// UTF-8: on Linux, a name may contain all bytes except 0 and the slash, and git can carry such a name.
struct FileName: Hashable {
    /// The bytes, with a 0 at the end, as system calls expect them.
    let characters: [CChar]

    init(_ text: String) { characters = Array(text.utf8CString) }

    private init(bytes: some Sequence<UInt8>) { characters = bytes.map(CChar.init(bitPattern:)) + [0] }

    /// Copies the name of a directory's entry.
    @unsafe
    init(_ entry: UnsafeMutablePointer<dirent>) {
        let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
            unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { start in
                unsafe Array(UnsafeBufferPointer(start: start, count: strlen(start)))
            }
        }
        characters = name + [0]
    }

    private var bytes: some RandomAccessCollection<UInt8> {
        characters.dropLast().lazy.map { UInt8(bitPattern: $0) }
    }

    /// The name as a string; `nil` if it is not UTF-8.
    var text: String? { String(validating: bytes, as: UTF8.self) }

    /// The name for messages, with replacement characters if it is not UTF-8.
    var shown: String { String(decoding: Array(bytes), as: UTF8.self) }

    /// Whether the name is `.` or `..`.
    var isDots: Bool { bytes.elementsEqual(".".utf8) || bytes.elementsEqual("..".utf8) }

    /// Returns the path of a file in the directory with this path.
    func appending(_ name: FileName) -> FileName {
        FileName(bytes: Array(bytes) + [UInt8(ascii: "/")] + Array(name.bytes))
    }
}

extension FileName: Comparable {
    static func < (one: FileName, other: FileName) -> Bool { unsafe strcmp(one.characters, other.characters) < 0 }
}
