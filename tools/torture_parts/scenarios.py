"""The scenarios of tools/torture. Each takes a Work, checks what must hold, and returns figures."""
import golden_scenarios
import history_scenarios
import world_scenarios

ALL = {
    "golden-kill": golden_scenarios.kill,
    "golden-limit": golden_scenarios.limit,
    "golden-full-disk": golden_scenarios.full_disk,
    "golden-two": golden_scenarios.two,
    "golden-readers": golden_scenarios.readers,
    "history-kill": history_scenarios.kill,
    "history-limit": history_scenarios.limit,
    "history-full-disk": history_scenarios.full_disk,
    "history-two": history_scenarios.two,
    "dashboard-kill": history_scenarios.dashboard_kill,
    "dashboard-limit": history_scenarios.dashboard_limit,
    "dashboard-two": history_scenarios.dashboard_two,
    "read-only": world_scenarios.read_only,
    "locale": world_scenarios.locale,
    "time-zone": world_scenarios.time_zone,
    "clock": world_scenarios.clock,
}
