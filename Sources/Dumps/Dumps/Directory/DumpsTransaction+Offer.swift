import RemoteSettingsModel
import SnapshotBundle

// Staging of snapshots from `import` and `publish`, which do not come from a server.
extension DumpsTransaction {
    /// A snapshot to stage.
    package struct Offer: Sendable {
        package let snapshot: Snapshot
        /// The attachments supplied with the snapshot. Their bytes are checked when they are packed.
        let attachments: [SHA256Digest: AttachmentInput]
        /// The source of the snapshot, for the lock file. It must not contain a path of this machine.
        let origin: String
        /// The guards that the snapshot violates, and that were overridden to accept it, one line each.
        let accepted: [String]

        package init(
            snapshot: Snapshot, attachments: [SHA256Digest: AttachmentInput], origin: String,
            accepted: [String] = []
        ) {
            self.accepted = accepted
            self.snapshot = snapshot
            self.attachments = attachments
            self.origin = origin
        }
    }

    package enum Taken: String, Hashable, Sendable {
        case created
        case updated
        /// The current bundle has the same content, or the same records with a signature.
        case unchanged
    }

    /// Stages an offered snapshot. Keeps the current bundle if it has the same content, or the same records with a
    /// signature. Does I/O.
    ///
    /// - Throws: ``Failure`` if it must not replace the current bundle, or exceeds a budget; `Failure`, for
    ///   example if an attachment does not match its record. In that case, nothing is staged.
    package func take(_ offer: Offer, by configuration: DumpsConfiguration) throws -> Taken {
        let (id, snapshot) = (offer.snapshot.collection, offer.snapshot)
        let settings = configuration.settings(of: id)
        let held = before.collections[id]
        let present = try presentBundle(id)
        let isSameState = present?.hasPayload(snapshot.payload) ?? false
        if let held {
            let situation = Situation(
                .given, hasSameRecords: present == nil ? nil : isSameState, isProven: present != nil)
            switch succession(of: snapshot.standing, after: held.standing, in: situation) {
            case .keep: return .unchanged
            case .refuse(let reason): throw refusal(snapshot, after: held, reason)
            // Attachments or metadata may still differ.
            case .same, .replace: break
            }
        }
        let entry = try stage(
            snapshot, attachments: sources(offer, settings: settings, present: present), settings: settings,
            server: offer.origin,
            accepted: isSameState ? held?.accepted ?? [] : offer.accepted)
        return held == nil ? .created : entry == held ? .unchanged : .updated
    }

    private func refusal(
        _ snapshot: Snapshot, after held: LockFile.Collection, _ reason: Succession.Reason
    ) -> Failure {
        let (id, offered) = (snapshot.collection, snapshot.timestamp)
        let removal = "if this is intended, remove the collection first: rsdump remove \(id)"
        return switch reason {
        case .older:
            .refused(
                id,
                "the new state's timestamp, \(offered) (\(offered.rfc3339)), is earlier than the current one, "
                    + "\(held.timestamp) (\(held.timestamp.rfc3339))", remedy: removal)
        case .equivocation:
            .refused(
                id,
                "the new state's signed records differ from those of the current bundle, although both have the "
                    + "timestamp \(held.timestamp); the current bundle is kept",
                remedy: "ask the server's operator which records are correct")
        default: .refused(id, "the new state is unsigned, but the current bundle is signed", remedy: removal)
        }
    }

    /// Returns the current bundle; `nil` if there is none, or if it is damaged and may be replaced.
    ///
    /// If the bundle cannot be read at the moment, it cannot be compared with the offer, so this method throws.
    private func presentBundle(_ id: CollectionID) throws -> BundleReader? {
        let path = directory.bundlePath(id)
        guard case .file? = try FileStore.kind(path) else { return nil }
        do throws(Failure) {
            return try BundleReader(path: path)
        } catch {
            guard error.code != .storage else { throw error }
            return nil
        }
    }

    private func sources(
        _ offer: Offer, settings: DumpsConfiguration.Collection, present: BundleReader?
    ) throws -> [SHA256Digest: AttachmentInput] {
        let (wanted, omitted) = try AttachmentSelector(settings.attachments).select(offer.snapshot.records)
        try settings.budget.check(wanted.filter { offer.attachments[$0.digest] != nil })
        var sources = omitted.mapValues { AttachmentInput.omitted($0) }
        for attachment in wanted {
            if let source = offer.attachments[attachment.digest] {
                sources[attachment.digest] = source
            } else if let present, try present.attachmentSize(attachment.digest) == attachment.size {
                sources[attachment.digest] = .bundle(present)
            } else {
                sources[attachment.digest] = .omitted(.notImported)
            }
        }
        return sources
    }
}
