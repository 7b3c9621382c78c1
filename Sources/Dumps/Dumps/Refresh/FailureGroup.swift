/// The failures of a refresh, by who has to act. A job's summary contains the advice for each group.
enum FailureGroup: CaseIterable {
    case signature, refused, configuration, machine, server

    init(_ failure: FailureClass) {
        self =
            switch failure {
            case .signature, .signatureLost: .signature
            case .rollback, .future, .equivocation: .refused
            case .budget, .configuration, .gone, .guarded, .pin, .unknown: .configuration
            case .bundle, .cancelled, .file: .machine
            case .attachment, .backoff, .changeset, .http, .stale, .undelivered, .unreachable: .server
            }
    }

    var title: String {
        switch self {
        case .signature: "Signature failures"
        case .refused: "Rejected states"
        case .configuration: "Configuration failures"
        case .machine: "Local failures"
        case .server: "Server failures"
        }
    }

    /// Advice for the people who have to act, as one paragraph.
    var advice: String {
        switch self {
        case .signature, .refused:
            "The data may be forged, so it was rejected. Ask the server's operator about it, and check `trust:` in "
                + "`dumps.yaml`. The next refresh will try again."
        case .configuration:
            "These fail in every refresh until you change `dumps.yaml` or run the command that the reason gives."
        case .machine:
            "Check the disk and the files of the machine that ran this refresh. The next refresh will try again."
        case .server:
            "The server or the network failed. The next refresh will try again. If a failure persists, tell the "
                + "server's operator."
        }
    }
}
