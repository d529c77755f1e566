"""The scenarios of tools/torture. Each takes a Work, checks what must hold, and returns figures."""
import golden_scenarios
import history_scenarios
import world_scenarios

ALL = {
    "golden-kill": golden_scenarios.kill,
    "golden-disk": golden_scenarios.disk,
    "golden-two": golden_scenarios.two,
    "history-kill": history_scenarios.kill,
    "history-disk": history_scenarios.disk,
    "history-two": history_scenarios.two,
    "dashboard-kill": history_scenarios.dashboard_kill,
    "dashboard-disk": history_scenarios.dashboard_disk,
    "read-only": world_scenarios.read_only,
    "locale": world_scenarios.locale,
    "time-zone": world_scenarios.time_zone,
}
