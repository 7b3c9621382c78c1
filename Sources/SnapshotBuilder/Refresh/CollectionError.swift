import ContentSignature
import FileStorage
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// Why one collection could not be refreshed. Its last good bundle and the other collections are untouched by it.
public enum CollectionError: Error, Sendable {
    case http(HTTPError)
    case changeset(ChangesetError, url: String)
    case signature(ContentSignatureError)
    /// The server gives an older state than what is held.
    case rollback(held: Timestamp, answered: Timestamp)
    /// The server gives other records under the timestamp of what is held.
    case equivocation(Timestamp)
    /// What is held is signed, and the server now gives no signature.
    case signatureLost
    /// The server no longer has the collection.
    case gone
    /// The server never had the collection, as far as is known here.
    case unknown(HTTPError)
    case attachment(location: String, record: String, problem: String)
    case pin(PinError)
    /// Something is larger than `dumps.yaml` allows.
    case overBudget(BudgetExcess)
    case bundle(BundleError)
    case file(FileError)
    case configuration(String)
    case cancelled

    /// A word for programs.
    public var code: String {
        switch self {
        case .http(let error):
            switch error.category {
            case .backoff: "backoff"
            case .unreachable: "unreachable"
            default: "http"
            }
        case .changeset: "changeset"
        case .signature: "signature"
        case .rollback: "rollback"
        case .equivocation: "equivocation"
        case .signatureLost: "signature-lost"
        case .gone: "gone"
        case .unknown: "unknown"
        case .attachment: "attachment"
        case .pin: "pin"
        case .overBudget: "budget"
        case .bundle: "bundle"
        case .file: "file"
        case .configuration: "configuration"
        case .cancelled: "cancelled"
        }
    }

    /// What is over budget, where it is that.
    public var excess: BudgetExcess? {
        if case .overBudget(let excess) = self { excess } else { nil }
    }

    var httpCategory: HTTPError.Category? {
        if case .http(let error) = self { error.category } else { nil }
    }

    /// Sorts whatever a stage threw.
    init(_ error: any Error) {
        switch error {
        case let error as CollectionError: self = error
        case let error as HTTPError: self = error.category == .cancelled ? .cancelled : .http(error)
        case let error as ContentSignatureError: self = .signature(error)
        case let error as PinError: self = .pin(error)
        case let error as BundleError: self = .bundle(error)
        case let error as FileError: self = .file(error)
        case is CancellationError: self = .cancelled
        default: self = .configuration("\(error)")
        }
    }
}

extension CollectionError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .http(let error): "\(error)"
        case .changeset(let error, let url): "\(url): \(error); what is held stays, try again later"
        case .signature(let error): "\(error)"
        case .rollback(let held, let answered):
            "the server answers an older state than what is held: expected at least \(held) (\(held.rfc3339)), "
                + "found \(answered) (\(answered.rfc3339)); if this is meant, remove the bundle and its lock entry first"
        case .equivocation(let timestamp):
            "the server answers other records under the timestamp that is held, \(timestamp); what is held stays, "
                + "ask the server's owner, or remove the bundle and its lock entry to take the new state"
        case .signatureLost:
            "what is held is signed, and the server now gives no signature; if this is meant, remove the bundle and its "
                + "lock entry first"
        case .gone:
            "the server no longer has this collection; its bundle stays, take it out with rsdump remove"
        case .unknown(let error):
            "the server has no such collection (\(error)); correct its name, or take it out with rsdump remove"
        case .attachment(let location, let record, let problem):
            "attachment \(location) of record \(record): \(problem)"
        case .pin(let error): "\(error)"
        case .overBudget(let excess): "\(excess)"
        case .bundle(let error): "\(error)"
        case .file(let error): "\(error)"
        case .configuration(let problem): problem
        case .cancelled: "cancelled"
        }
    }
}
