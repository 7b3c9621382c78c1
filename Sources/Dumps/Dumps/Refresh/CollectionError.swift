import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// Why one collection could not be refreshed. Its last good bundle and the other collections stay as they are.
package enum CollectionError: Error, Sendable {
    /// The server's state could not be fetched, or was refused.
    case fetch(HTTPError)
    /// The server no longer has the collection.
    case gone
    /// Both the server's list and its answer are older than the bundle. The bundle stays, and nothing has failed.
    case stale(held: Timestamp, answered: Timestamp)
    /// The server's list announces a state that the server does not deliver.
    case undelivered(listed: Timestamp, answered: Timestamp)
    case attachment(location: String, record: String, problem: String)
    case pin(PinError)
    /// Its state, or that of another collection, is not the one in the catalogue.
    case catalogue(CatalogueRefreshError)
    /// A bundle or an attachment is larger than `dumps.yaml` allows.
    case overBudget(BudgetExcess)
    /// Its new state violates guards in `dumps.yaml`.
    case guarded(GuardFailure)
    case bundle(BundleError)
    case file(BundleError)
    case configuration(String)
    case cancelled

    /// What identifies the error for programs and for `acknowledged:`.
    package var kind: FailureKind {
        switch self {
        case .fetch(let error):
            switch error.fault {
            case .changeset, .noAnswer: .changeset
            case .signature, .cutShort: .signature
            case .rollback: .rollback
            case .future: .future
            case .equivocation: .equivocation
            case .signatureLost: .signatureLost
            case .unknownCollection: .unknown
            case .notListed, .overtaken, nil:
                if error.isUnanswered { .unreachable } else { error.hold == nil ? .http : .backoff }
            }
        case .gone: .gone
        case .stale: .stale
        case .undelivered: .undelivered
        case .attachment: .attachment
        case .pin: .pin
        case .catalogue: .catalogue
        case .overBudget: .budget
        case .guarded: .guarded
        case .bundle: .bundle
        case .file: .file
        case .configuration: .configuration
        case .cancelled: .cancelled
        }
    }

    /// What exceeds the budget; `nil` for other errors.
    package var excess: BudgetExcess? {
        if case .overBudget(let excess) = self { excess } else { nil }
    }

    /// The violations of guards; empty for other errors.
    package var violations: [GuardViolation] {
        if case .guarded(let failure) = self { failure.violations } else { [] }
    }

    /// Whether the server does not have the collection and, as far as is known, never had it.
    var isUnknown: Bool {
        if case .fetch(let error) = self { error.fault == .unknownCollection } else { false }
    }

    /// Whether the server is behind the bundle.
    var isStale: Bool {
        if case .stale = self { true } else { false }
    }

    /// The HTTP error; `nil` for other errors.
    var http: HTTPError? {
        if case .fetch(let error) = self, error.fault == nil { error } else { nil }
    }

    /// Whether a file of this machine could not be read or written.
    var isOfMachine: Bool {
        switch self {
        case .file(let error): error.isOfMachine
        case .bundle(let error): error.isOfMachine
        default: false
        }
    }

    /// Makes the error from one that a stage threw.
    init(_ error: any Error) {
        switch error {
        case let error as CollectionError: self = error
        case let error as HTTPError: self = error.code == .cancelled ? .cancelled : .fetch(error)
        case let error as BundleError where error.isOfTrust: self = .fetch(.signature(error))
        case let error as PinError: self = .pin(error)
        case let error as CatalogueRefreshError: self = .catalogue(error)
        case let failure as GuardFailure: self = .guarded(failure)
        case let excess as BudgetExcess: self = .overBudget(excess)
        case let error as BundleError: self = error.isOfSystem ? .file(error) : .bundle(error)
        case HistoryError.file(let error): self = .file(error)
        case is CancellationError: self = .cancelled
        default: self = .configuration("\(error)")
        }
    }
}

extension CollectionError: CustomStringConvertible {
    private static func sentence(_ error: HTTPError) -> String {
        switch error.fault {
        case .rollback:
            "\(error.problem); if you want the older state, remove the bundle and its lock entry first"
        case .equivocation:
            "\(error), or remove the bundle and its lock entry to take the new state"
        case .signatureLost:
            "\(error.problem); if you want the unsigned state, remove the bundle and its lock entry first"
        case .unknownCollection:
            "the server has no such collection (\(error)); correct its name in dumps.yaml, or run rsdump remove"
        default: "\(error)"
        }
    }

    package var description: String {
        switch self {
        case .fetch(let error): Self.sentence(error)
        case .gone:
            "the server no longer has this collection; its bundle is kept; to remove it, run rsdump remove"
        case .stale(let held, let answered):
            "the server's list of collections and its answer are older than the bundle: expected at least \(held) "
                + "(\(held.rfc3339)), found \(answered) (\(answered.rfc3339)); a cache may be behind"
        case .undelivered(let listed, let answered):
            "the server's list of collections has the state \(listed) (\(listed.rfc3339)), and its answer is "
                + "\(answered) (\(answered.rfc3339)), the bundle's; a cache may be behind: try again later"
        case .attachment(let location, let record, let problem):
            "attachment \(location) of record \(record): \(problem)"
        case .pin(let error): "\(error)"
        case .catalogue(let error): "\(error)"
        case .overBudget(let excess): "\(excess)"
        case .guarded(let failure): "\(failure)"
        case .bundle(let error): "\(error)"
        case .file(let error): "\(error)"
        case .configuration(let problem): problem
        case .cancelled: "cancelled"
        }
    }
}

extension CollectionError: Encodable {
    package func encode(to encoder: any Encoder) throws {
        try encoder.encode(members: [
            "code": kind.rawValue, "message": "\(self)", "overBudget": excess,
            "guards": violations.isEmpty ? nil : violations,
        ])
    }
}
