#include "spindrift/video/flow_codec.h"

#include <mutex>
#include <opencv2/core/utility.hpp>
#include <opencv2/video/tracking.hpp>

namespace {

// OpenCV's result depends on its number of threads. While any flow is computed it is one; the callers work in parallel.
class OneThread {
  public:
    OneThread()
    {
        const std::scoped_lock lock(mutex);
        if (users++ == 0) before = cv::getNumThreads(), cv::setNumThreads(1);
    }
    OneThread(const OneThread&) = delete;
    OneThread& operator=(const OneThread&) = delete;
    ~OneThread()
    {
        const std::scoped_lock lock(mutex);
        if (--users == 0) cv::setNumThreads(before);
    }

  private:
    static std::mutex mutex;
    static int users, before;
};
std::mutex OneThread::mutex;
int OneThread::users = 0, OneThread::before = 0;

} // namespace

extern "C" __attribute__((visibility("default"))) void
spindrift_optical_flow(const uint8_t* from, const uint8_t* to, int width, int height, float* flow, std::string& error)
{
    try {
        const OneThread one;
        const cv::Mat first(height, width, CV_8UC1, const_cast<uint8_t*>(from)),
            second(height, width, CV_8UC1, const_cast<uint8_t*>(to));
        const auto method = cv::DISOpticalFlow::create(cv::DISOpticalFlow::PRESET_MEDIUM);
        method->setFinestScale(0);
        cv::Mat found;
        method->calc(first, second, found);
        if (found.rows == height && found.cols == width && found.type() == CV_32FC2)
            found.copyTo(cv::Mat(height, width, CV_32FC2, flow));
        else
            error = "OpenCV returned no flow";
    } catch (const std::exception& exception) {
        error = exception.what();
    }
}

static_assert(std::is_same_v<decltype(spindrift_optical_flow), spindrift::OpticalFlowFunction>);
