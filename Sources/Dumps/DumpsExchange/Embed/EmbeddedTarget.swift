import RemoteSettingsModel
import SnapshotBundle

/// The files of a C target that embeds a `dumps/` directory in a program.
///
/// The source embeds the lock file and the bundles with `#embed` (C23), by relative paths. The compiler reads them into
/// read-only data and records them as dependencies, so that it recompiles when a bundle changes. Swift reads them in
/// place, through the header's only function. A compiler without `#embed` stops at an `#error` with instructions.
package struct EmbeddedTarget: Sendable {
    /// The name of the target and its module. It is also the prefix of the header's declarations.
    package let module: String
    /// The path from the target's folder to the dumps directory, such as `../../dumps`.
    package let dumps: String
    /// The path from the target's folder to the lock file of the embedded bundles.
    package let lockPath: String
    /// The collections whose bundles are in ``bundles`` instead of the dumps directory.
    package let own: Set<CollectionID>
    /// The name of the folder, inside the target's folder, for the target's own copies of bundles.
    package static let bundles = "bundles"
    /// The record types by collection; the records of all other collections are `RemoteSettingsRecord`.
    let types: [CollectionID: RecordType]
    /// The embedded collections, sorted.
    private let collections: [CollectionID]

    /// Creates a target.
    ///
    /// - Parameters:
    ///   - lock: a lock file that lists exactly the embedded bundles, because an app expects every bundle in its lock
    ///     file.
    ///   - lockPath: the path of the lock file if it is not in the dumps directory.
    init(
        module: String, dumps: String, lock: LockFile, lockPath: String? = nil, own: Set<CollectionID> = [],
        types: [CollectionID: RecordType] = [:]
    ) {
        self.types = types
        self.own = own
        self.module = module
        self.dumps = dumps
        self.lockPath = lockPath ?? "\(dumps)/dumps.lock.json"
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

        /* The embedded bytes. They are read-only and remain valid until the program exits. */
        const struct \(module)_index *\(module)_contents(void);

        #endif

        """
    }

    /// The content of `PackagedSource+<module>.swift`, for the target that uses the bundles.
    package var swift: String {
        """
        // \(Self.origin)

        import \(module)
        public import RemoteSettings

        nonisolated extension PackagedSource {
            /// The bundles that are embedded in the program, read in place.
            public static let \(sourceName): PackagedSource = {
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
        \(clients)
        """
    }

    /// The module's name as a variable name, such as `embeddedDumps`.
    private var sourceName: String { module.prefix(1).lowercased() + module.dropFirst() }

    /// Returns a name for each collection.
    static func names(_ collections: [CollectionID]) -> [(id: CollectionID, name: String)] {
        let plain = Dictionary(grouping: collections) { SwiftName.of($0.name) }
        let unique = Set(plain.filter { $0.value.count == 1 }.keys)
        var taken = NamesInUse(Set(unique.map(\.exact)))
        return collections.map { id in
            let name = SwiftName.of(id.name)
            // If several collections would get the same name, it is prefixed with the bucket. If the result is still
            // not unique, as for a-b and a_b, a number is appended.
            return (id, unique.contains(name) ? name : taken.unused(SwiftName.of("\(id.bucket)-\(id.name)")))
        }
    }

    /// The declarations of the collections, and of the generated record types.
    private var clients: String {
        let named = Self.names(collections)
        let untyped = named.filter { types[$0.id] == nil }
        let typed = named.compactMap { id, name in types[id].map { (id, name, $0) } }
        return (untyped.isEmpty ? "" : clients("RemoteSettingsRecord", untyped.map { client($0.id, $0.name) }))
            + typed.map { id, name, type in
                clients(type.name, [client(id, name, "of: \(type.name).self, ")])
                    + "\n\(type.declaration(collection: "\(id)"))"
            }.joined()
    }

    private func clients(_ type: String, _ clients: [String]) -> String {
        "\nnonisolated extension TypedCollection where Record == \(type) {\n\(clients.joined())}\n"
    }

    private func client(_ id: CollectionID, _ name: String, _ type: String = "") -> String {
        """
            /// `\(id)`
            public static let \(name) =
                TypedCollection("\(id)", \(type)in: .\(sourceName))

        """
    }

    /// The comment that marks a file as generated by `rsdump embed`.
    package static let origin = "Generated by rsdump embed. Do not edit."

    /// The error that a compiler without `#embed` prints.
    static let missingEmbed =
        "this C compiler has no #embed (C23); build with Swift 6.3 or newer, whose clang has it, or do not embed the "
        + "dumps and read them from a directory or a resource bundle (PackagedSource.directory, .bundleResource)"

    private func array(_ name: String, _ path: String) -> String {
        "static const unsigned char \(name)[] = {\n#embed \"\(path)\"\n};\n"
    }
}
