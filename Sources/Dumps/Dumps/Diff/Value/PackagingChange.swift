import RemoteSettingsModel

/// The attachments that only one of two bundles contains, although the records of both refer to them, for example
/// because the attachment rule in `dumps.yaml` has changed.
struct PackagingChange: Sendable {
    /// The file names, in the order of record ids.
    private(set) var added: [String] = []
    private(set) var removed: [String] = []

    init() {}

    init(from old: ComparedSnapshot, to new: ComparedSnapshot) {
        guard let before = old.packaged.map(Set.init), let after = new.packaged.map(Set.init), before != after else {
            return
        }
        for record in new.records {
            guard let attachment = try? record.attachment(),
                let earlier = try? old.records.record(id: record.id)?.attachment(), earlier.hash == attachment.hash
            else { continue }
            switch (before.contains(attachment.hash), after.contains(attachment.hash)) {
            case (false, true): added.append(DiffWords.name(attachment))
            case (true, false): removed.append(DiffWords.name(attachment))
            default: break
            }
        }
    }
}
