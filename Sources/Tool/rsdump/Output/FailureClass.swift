import Dumps

/// A class of failures in a refresh, by the people who have to act. A job's summary explains each class.
enum FailureClass: CaseIterable {
    case signature, refused, configuration, machine, catalogue, server

    init(_ kind: FailureKind) {
        self =
            switch kind {
            case .signature, .signatureLost: .signature
            case .rollback, .future, .equivocation: .refused
            case .budget, .configuration, .gone, .guarded, .pin, .unknown: .configuration
            case .bundle, .cancelled, .file: .machine
            case .catalogue: .catalogue
            case .attachment, .backoff, .changeset, .http, .stale, .undelivered, .unreachable: .server
            }
    }

    var title: String {
        switch self {
        case .signature: "Signature failures"
        case .refused: "Refused states"
        case .configuration: "Configuration failures"
        case .machine: "Failures of this machine"
        case .catalogue: "Catalogue failures"
        case .server: "Server failures"
        }
    }

    /// Advice for the people who have to act, as one paragraph.
    var advice: String {
        switch self {
        case .signature, .refused:
            "The data may be forged, so it was refused. Ask the server's operator, and check `trust:` in `dumps.yaml`. "
                + "The next refresh tries again."
        case .configuration:
            "These remain until somebody changes `dumps.yaml` or runs the command in the reason."
        case .machine:
            "Check the disk and the files of the machine that ran this refresh. The next refresh tries again."
        case .catalogue:
            "The publisher has to act, unless the reason names another collection or a setting. The next refresh tries "
                + "again."
        case .server:
            "The server or the network failed. The next refresh tries again. If a failure lasts, tell the server's "
                + "operator."
        }
    }
}
