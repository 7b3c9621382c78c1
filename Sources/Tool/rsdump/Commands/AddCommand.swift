import ArgumentParser
import Dumps
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// `rsdump add`
struct AddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Add collections to dumps.yaml, keeping its comments.",
        usage: "rsdump add <collections> ... [<options>]",
        discussion: """
            Creates dumps.yaml if it does not exist, and in a git repository also .gitattributes beside it. --server \
            and --trust-root apply to the whole file; use a separate directory for each server. Warns if the server \
            can be asked and does not list a collection. Nothing else is downloaded; rsdump refresh does that.

            Examples:
              rsdump add main/markets main/search-config-v2
              rsdump add security-state/onecrl --attachments none
              rsdump add main/markets --server stage --dumps dumps-stage
            """)

    @OptionGroup var collections: SomeCollections

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
        let (new, configuration) = try await directory.addCollections(
            collections.names, attachments: attachments?.rawValue, server: server.server, roots: roots
        ) { before, after in
            try refuseOtherServer(than: before)
            _ = try after.serverURL()
        }
        for id in collections.names {
            Console.print(new.contains(id) ? "\(id): added" : "\(id): already in dumps.yaml; settings unchanged")
        }
        if isNew, (try? await GitRepository(containing: directory.path)) != nil, try directory.writeGitAttributes() {
            Console.print(
                "\(directory.path)/.gitattributes: written, so that git does not change line endings in bundles")
        }
        let count = Counted.text(configuration.collections.count, "collection")
        Console.print("\(directory.configurationPath): \(count) from \(configuration.server)")
        do { _ = try configuration.policy(file: directory.configurationPath) } catch {
            Console.error("warning: \(error)")
        }
        await warn(of: collections.names.filter(new.contains))
    }

    /// Warns of collections that the server does not list. If the server does not answer within a few seconds, nothing
    /// is known about them; a refresh reports each one that is missing.
    private func warn(of names: [CollectionID]) async {
        guard !names.isEmpty, var opened = try? OpenDumps(dumps) else { return }
        opened.limits.runSeconds = 5
        let answer = try? await opened.withServer(jobs: 1) { try await $0.monitor() }
        guard case .changes(let document, _)? = answer,
            let monitor = try? MonitorChangeset(parsing: document.body)
        else { return }
        for id in names where monitor.collections[id] == nil {
            Console.error(
                "warning: \(id): the server does not list this collection; "
                    + [id].didYouMean(monitor.collections.keys, or: "list the server's collections with: rsdump list"))
        }
    }

    /// Checks that `--server` does not change the server of collections that are already in `dumps.yaml`.
    ///
    /// - Throws: ``CommandFailure`` if it does.
    private func refuseOtherServer(than present: DumpsConfiguration) throws {
        guard let named = server.server, !present.collections.isEmpty,
            try !ServerURL(named, allowPlainHTTP: true).isSameServer(as: present.serverURL())
        else { return }
        throw CommandFailure(
            .usage,
            "\(dumps.directory.configurationPath): its server is \(present.server), but --server is \(named); a "
                + "dumps directory has only one server. Add the collections to a different directory, such as --dumps "
                + "\(dumps.directory.path)-2; or, to change the server of all "
                + "\(Counted.text(present.collections.count, "collection")), edit server: in the file")
    }
}
