import RemoteSettingsModel
import SnapshotBundle

/// The files of a C target that embeds a `dumps/` directory in a program.
///
/// The source names the lock and the bundles with `#embed` (C23), by relative paths. The compiler reads them into
/// read-only data. It also records them as dependencies, so that a changed bundle is compiled in again. Swift reads
/// them in place, through the header's only function. A compiler without `#embed` stops at an `#error` that says what
/// to do.
package struct EmbeddedTarget: Sendable {
    /// The name of the target and of its module. It is also the prefix of the header's declarations.
    package let module: String
    /// The path from the target's folder to the dumps directory, such as `../../dumps`.
    package let dumps: String
    /// The path from the target's folder to the lock of the embedded bundles.
    package let lockPath: String
    /// The collections whose bundles are in ``bundles``, because the target does not use those of the directory.
    package let own: Set<CollectionID>
    /// The name of the target's folder with its own bundles.
    package static let bundles = "bundles"
    /// Whether the function in ``swift`` is public.
    package let isPublic: Bool
    /// The embedded collections, sorted.
    private let collections: [CollectionID]

    /// - Parameters:
    ///   - lock: a lock that names exactly the embedded bundles, because an app expects every bundle in its lock.
    ///   - lockPath: the path to the lock if it is not in the dumps directory.
    package init(
        module: String, dumps: String, lock: LockFile, lockPath: String? = nil, own: Set<CollectionID> = [],
        isPublic: Bool = false
    ) {
        self.own = own
        self.module = module
        self.dumps = dumps
        self.lockPath = lockPath ?? "\(dumps)/dumps.lock.json"
        self.isPublic = isPublic
        collections = lock.collections.keys.sorted { "\($0)" < "\($1)" }
    }

    /// The content of `<module>.c`.
    package var source: String {
        let arrays = collections.enumerated().map { number, id in
            array("bundle_\(number)", "\(own.contains(id) ? Self.bundles : dumps)/\(LockFile.Bundle.path(of: id))")
        }
        let entries = collections.enumerated().map { number, id in
            "    {\"\(id)\", bundle_\(number), sizeof bundle_\(number)},\n"
        }
        return """
            /* \(Self.origin) */

            #include "\(module).h"

            #ifndef __has_embed
            #error "\(Self.missingEmbed)"
            #else

            #pragma clang diagnostic ignored "-Wc23-extensions"

            \(array("lock", lockPath))
            \(arrays.joined())
            static const struct \(module)_bundle bundles[] = {
            \(entries.joined())    {0, 0, 0},
            };

            static const struct \(module)_index contents = {lock, sizeof lock, bundles, \(collections.count)};

            const struct \(module)_index *\(module)_contents(void) { return &contents; }

            #endif

            """
    }

    /// The content of `include/<module>.h`.
    package var header: String {
        """
        /* \(Self.origin) */

        #ifndef \(module)_h
        #define \(module)_h

        #include <stddef.h>

        struct \(module)_bundle {
            /* bucket/collection */
            const char *collection;
            const unsigned char *bytes;
            size_t size;
        };

        struct \(module)_index {
            /* dumps.lock.json */
            const unsigned char *lock;
            size_t lock_size;
            /* Sorted by collection. */
            const struct \(module)_bundle *bundles;
            size_t bundle_count;
        };

        /* The embedded bytes. They are read-only and stay until the program ends. */
        const struct \(module)_index *\(module)_contents(void);

        #endif

        """
    }

    /// The content of `PackagedSource+<module>.swift`, for the target that uses the bundles.
    package var swift: String {
        """
        // \(Self.origin)

        import \(module)
        import RemoteSettings

        extension PackagedSource {
            /// The bundles that are embedded in the program. They are read in place.
            \(access)static let \(sourceName): PackagedSource = {
                let contents = unsafe \(module)_contents().pointee
                let lock = unsafe RemoteSettingsBytes.ofProgram(contents.lock, count: contents.lock_size)
                var bundles: [String: RemoteSettingsBytes] = [:]
                for number in unsafe 0..<contents.bundle_count {
                    let bundle = unsafe contents.bundles[number]
                    let name = unsafe String(cString: bundle.collection)
                    bundles[name] = unsafe RemoteSettingsBytes.ofProgram(bundle.bytes, count: bundle.size)
                }
                return .embedded(lock: lock, bundles: bundles)
            }()
        }

        extension EmbeddedCollection {
        \(names)}

        """
    }

    private var access: String { isPublic ? "public " : "" }

    /// The module's name as that of a variable, such as `embeddedDumps`.
    private var sourceName: String { module.prefix(1).lowercased() + module.dropFirst() }

    /// A name for each collection except a catalogue, which apps do not read.
    private var names: String {
        let own = collections.filter { $0 != Catalogue.collection }
        let plain = Dictionary(grouping: own) { SwiftName.of($0.name) }
        var taken = Set(plain.filter { $0.value.count == 1 }.keys)
        return own.map { id in
            var name = SwiftName.of(id.name)
            // If several collections would get the same name, the name of their bucket comes before it. If that is not
            // enough, as for a-b and a_b, a number follows.
            if !taken.contains(name) {
                let whole = SwiftName.of("\(id.bucket)-\(id.name)")
                let numbered = (2...own.count + 2).lazy.map { "\(whole)_\($0)" }
                name = taken.contains(whole) ? numbered.first { !taken.contains($0) } ?? whole : whole
                taken.insert(name)
            }
            return """
                    /// `\(id)`
                    \(access)static let \(name) =
                        EmbeddedCollection("\(id)", in: .\(sourceName))

                """
        }.joined()
    }

    /// The comment that marks a generated file.
    package static let origin =
        "Written by rsdump embed from the lock and its bundles; write it again instead of editing."

    /// The error that a compiler without `#embed` prints.
    static let missingEmbed =
        "this C compiler has no #embed (C23); build with Swift 6.3 or newer, whose clang has it, or do not embed the "
        + "dumps and read them from a directory or a resource bundle (PackagedSource.directory, .bundleResource)"

    private func array(_ name: String, _ path: String) -> String {
        "static const unsigned char \(name)[] = {\n#embed \"\(path)\"\n};\n"
    }
}

/// The names of collections as names of Swift variables.
private enum SwiftName {
    /// Words that cannot name a variable without backticks (The Swift Programming Language, "Keywords and
    /// Punctuation").
    private static let keywords: Set = [
        "as", "associatedtype", "break", "case", "catch", "class", "continue", "default", "defer", "deinit", "do",
        "else",
        "enum", "extension", "fallthrough", "false", "fileprivate", "for", "func", "guard", "if", "import", "in",
        "init",
        "inout", "internal", "is", "let", "nil", "operator", "precedencegroup", "private", "protocol", "public",
        "repeat",
        "rethrows", "return", "self", "static", "struct", "subscript", "super", "switch", "throw", "throws", "true",
        "try",
        "typealias", "var", "where", "while",
    ]

    /// `search-config-v2` is `searchConfigV2`.
    static func of(_ name: String) -> String {
        let words = name.split { $0 == "-" || $0 == "_" }
        let joined = words.enumerated().map { index, word in
            index == 0 ? word.prefix(1).lowercased() + word.dropFirst() : word.prefix(1).uppercased() + word.dropFirst()
        }.joined()
        if keywords.contains(joined) { return "`\(joined)`" }
        return joined.first?.isNumber ?? true ? "_\(joined)" : joined
    }
}
