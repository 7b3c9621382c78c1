import Yams

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
