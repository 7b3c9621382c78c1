import AuthoredText
import RemoteSettingsModel
import Yams

extension ConfigurationReader {
    /// Reads `pin: TIMESTAMP`, or a mapping of `at`, `reason` and `until`.
    func pin(_ node: Node) throws(ConfigurationError) -> Pin {
        guard case .mapping(let mapping) = node else { return Pin(at: try timestamp(node)) }
        var at: Timestamp?
        var pin = Pin(at: Timestamp(milliseconds: 0))
        for (key, value) in mapping {
            switch key.string {
            case "at": at = try timestamp(value)
            case "reason":
                let reason = try string(value, "reason")
                guard Pin.isReason(reason) else {
                    throw error(value, "reason is not one line of at most 500 characters", remedy: "shorten it")
                }
                pin.reason = reason
            case "until":
                guard case .scalar(let scalar) = value, let date = Pin.date(scalar.string) else {
                    throw error(value, "until is \(shown(value))", remedy: "write a date, such as 2026-12-31")
                }
                pin.until = date
            default: throw unknown(key, ["at", "reason", "until"])
            }
        }
        guard let at else {
            throw error(node, "the pin has no timestamp", remedy: "write at: and the collection's timestamp")
        }
        pin.at = at
        return pin
    }

    private func timestamp(_ node: Node) throws(ConfigurationError) -> Timestamp {
        guard case .scalar(let scalar) = node, scalar.string.count <= 18, let timestamp = Timestamp(scalar.string),
            timestamp.milliseconds > 0
        else {
            throw error(
                node, "a pin at \(shown(node))",
                remedy:
                    "write the collection's timestamp in milliseconds; rsdump pin BUCKET/COLLECTION --at DATE finds it")
        }
        return timestamp
    }
}

extension ConfigurationReader {
    /// Reads a mapping of `bundle` and `attachment`, and of `total` where `isOfAll`.
    func budget(_ node: Node, isOfAll: Bool) throws(ConfigurationError) -> (budget: Budget, total: UInt64?) {
        let known = isOfAll ? ["bundle", "attachment", "total"] : ["bundle", "attachment"]
        var budget = Budget()
        var total: UInt64?
        for (key, value) in try mapping(node, "budget") {
            switch key.string {
            case "bundle": budget.bundle = try size(value, "bundle")
            case "attachment": budget.attachment = try size(value, "attachment")
            case "total" where isOfAll: total = try size(value, "total")
            default: throw unknown(key, known)
            }
        }
        return (budget, total)
    }
}

extension ConfigurationReader {
    /// Reads a mapping of names to URLs, or to mappings of `url`, `format`, `topic` and `headers-from-env`.
    func notificationTargets(_ node: Node) throws(ConfigurationError) -> [String: NotificationTarget] {
        var targets: [String: NotificationTarget] = [:]
        for (key, value) in try mapping(node, "notify") {
            let name = try string(key, "the target's name")
            guard !name.contains(":"), !name.contains("/") else {
                throw error(key, "the target's name is \(shown(key))", remedy: "write a name without : and /")
            }
            targets[name] = try notificationTarget(value, name)
        }
        return targets
    }

    private func notificationTarget(_ node: Node, _ name: String) throws(ConfigurationError) -> NotificationTarget {
        var url: String?
        var format = NotificationTarget.Format.event
        var topic: String?
        var headersVariable: String?
        if case .mapping(let mapping) = node {
            for (key, value) in mapping {
                switch key.string {
                case "url": url = try string(value, "url")
                case "format":
                    guard let known = NotificationTarget.Format(rawValue: value.string ?? "") else {
                        throw error(value, "format is \(shown(value))", remedy: "write event, fcm or apns")
                    }
                    format = known
                case "topic": topic = try string(value, "topic")
                case "headers-from-env": headersVariable = try string(value, "headers-from-env")
                default: throw unknown(key, ["url", "format", "topic", "headers-from-env"])
                }
            }
        } else {
            url = try string(node, name)
        }
        guard let url else { throw error(node, "\(name) has no url", remedy: "write url: and where to post to") }
        do {
            return try NotificationTarget(url: url, format: format, topic: topic, headersVariable: headersVariable)
        } catch {
            throw self.error(node, "\(name): \(error)", remedy: "correct the target")
        }
    }
}
