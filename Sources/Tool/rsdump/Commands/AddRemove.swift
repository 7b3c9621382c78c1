import ArgumentParser
import Dumps
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotTrust

/// `rsdump add`
struct Add: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Add collections to dumps.yaml, keeping its comments.",
        discussion: """
            Creates dumps.yaml if there is none, and in a git repository .gitattributes beside it. --server and --trust-root apply to the whole file: collections of \
            another server go into a directory of their own. Nothing is downloaded: rsdump refresh does that.

            Examples:
              rsdump add main/regions main/search-config-v2
              rsdump add security-state/onecrl --attachments none
              rsdump add main/regions --server stage --dumps dumps-stage
            """)

    @Argument(help: "Collections, as BUCKET/COLLECTION.", transform: collectionID)
    var collections: [CollectionID]

    @OptionGroup var dumps: DumpsOptions
    @OptionGroup var server: ServerOptions

    @Option(help: ArgumentHelp("Which attachments to keep: all or none.", valueName: "all|none"))
    var attachments: Selection?

    enum Selection: String, ExpressibleByArgument, CaseIterable {
        case all
        case none
    }

    func run() async throws {
        let directory = dumps.directory
        let roots = try TrustAnchors(hashes: server.trust.roots).roots
        let isNew = try directory.configurationText() == nil
        let (new, configuration) = try directory.exclusively {
            try refuseOtherServer(than: directory.configurationOrDefault())
            return try directory.addCollections(
                collections, attachments: attachments?.rawValue, server: server.server, roots: roots
            ) { _ = try $0.serverURL() }
        }
        for id in collections {
            Console.print(new.contains(id) ? "\(id): added" : "\(id): is already there; its settings are kept")
        }
        if isNew, (try? await GitRepository(containing: directory.path)) != nil, try directory.writeGitAttributes() {
            Console.print("\(directory.path)/.gitattributes: written; git converts no line ends of bundles")
        }
        let count = Counted.text(configuration.collections.count, "collection")
        Console.print("\(directory.configurationPath): \(count) of \(configuration.server)")
    }

    /// - Throws: ``CommandFailure`` if --server would move collections that are already there to another server.
    private func refuseOtherServer(than present: DumpsConfiguration) throws {
        guard let named = server.server, !present.collections.isEmpty,
            try !ServerURL(named, allowPlainHTTP: true).isSameServer(as: present.serverURL())
        else { return }
        throw CommandFailure(
            .usage,
            "\(dumps.directory.configurationPath): expected its server, \(present.server), found --server \(named), and a "
                + "directory has one server; add the collections to a directory of their own, such as --dumps "
                + "\(dumps.directory.path)-2, or edit server: in the file if "
                + "\(Counted.text(present.collections.count, "collection")) shall come from the new one")
    }
}

/// `rsdump remove`
struct Remove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove collections from dumps.yaml, the lock and the directory, keeping comments.",
        discussion: """
            Examples:
              rsdump remove main/regions
              rsdump remove main/regions --keep-bundles
            """)

    @Argument(help: "Collections, as BUCKET/COLLECTION.", transform: collectionID)
    var collections: [CollectionID]

    @OptionGroup var dumps: DumpsOptions

    @Flag(help: "Leave the bundles and their lock entries where they are.")
    var keepBundles = false

    func run() async throws {
        try dumps.directory.removeCollections(collections, keepingBundles: keepBundles)
        for id in collections { Console.print("\(id): removed") }
        let catalogue = Catalogue.collection
        guard !keepBundles, !collections.contains(catalogue),
            try dumps.directory.configurationOrDefault().catalogue != nil,
            try dumps.directory.lockFile(limits: Limits()).collections[catalogue] != nil
        else { return }
        Console.print("on the machine that publishes, the next rsdump publish notes this in the catalogue")
    }
}
