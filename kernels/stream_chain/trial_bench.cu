// nvcc -std=c++20 -arch=sm_90a -O2 -I. over this file and stream_chain.cu; tensor_map.cc, arguments.cc, check.cc and
// cuda_status.cc by g++. Times chains of an 8B and a 27B drafter.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <string>
#include <algorithm>
#include <cmath>
#include <cuda_bf16.h>
#include "kernels/stream_chain/stream_chain.h"
using namespace draftmark; using namespace draftmark::kernels;
#define CK(x) do{cudaError_t e=(x); if(e){printf("CUDA %s line %d\n",cudaGetErrorString(e),__LINE__);exit(1);}}while(0)
#define SK(x) do{Status s_=(x); if(!s_.ok()){printf("%s line %d\n",s_.ToString().c_str(),__LINE__);exit(1);}}while(0)
__global__ void fill(BFloat16*p,size_t n,unsigned s,float sc){for(size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x;i<n;i+=(size_t)gridDim.x*blockDim.x){unsigned long long x=i*0x9E3779B97F4A7C15ull+s;x^=x>>31;x*=0xBF58476D1CE4E5B9ull;x^=x>>29;float f=((x>>40)/(float)(1<<24)*2-1)*sc;p[i]=BFloat16{__bfloat16_as_ushort(__float2bfloat16_rn(f))};}}
__global__ void idle(){}
cudaStream_t st; cudaEvent_t e0,e1;
BFloat16* mk(size_t n,unsigned s,float sc){BFloat16*p;CK(cudaMalloc(&p,n*2));fill<<<1024,256,0,st>>>(p,n,s,sc);return p;}
template<class F> double timeit(F f,const char*what,double bytes,double copy){cudaGraph_t gr;cudaGraphExec_t ge;CK(cudaStreamBeginCapture(st,cudaStreamCaptureModeGlobal));f();CK(cudaStreamEndCapture(st,&gr));CK(cudaGraphInstantiate(&ge,gr,0));for(int i=0;i<3;i++)CK(cudaGraphLaunch(ge,st));std::vector<float>t;for(int i=0;i<20;i++){float ms;cudaEventRecord(e0,st);CK(cudaGraphLaunch(ge,st));cudaEventRecord(e1,st);CK(cudaStreamSynchronize(st));cudaEventElapsedTime(&ms,e0,e1);t.push_back(ms);}std::sort(t.begin(),t.end());double us=t[10]*1e3;printf("%-28s %.1f MB %.1f us ideal %.1f ratio %.3f\n",what,bytes/1e6,us,bytes/copy/1e3,us/(bytes/copy/1e3));fflush(stdout);return us;}
int main(int argc,char**argv){
  CK(cudaStreamCreateWithFlags(&st,cudaStreamNonBlocking)); cudaEventCreate(&e0);cudaEventCreate(&e1);
  size_t N=1ull<<30; char*a,*b; CK(cudaMalloc(&a,N));CK(cudaMalloc(&b,N)); float ms; for(int i=0;i<3;i++)CK(cudaMemcpyAsync(b,a,N,cudaMemcpyDeviceToDevice,st)); cudaEventRecord(e0,st); for(int i=0;i<10;i++)CK(cudaMemcpyAsync(b,a,N,cudaMemcpyDeviceToDevice,st)); cudaEventRecord(e1,st);CK(cudaStreamSynchronize(st)); cudaEventElapsedTime(&ms,e0,e1); double copy=10*2.0*N/ms/1e6; printf("copy %.1f GB/s\n",copy); cudaFree(a);cudaFree(b);
  struct G{const char*name;int rows;long h,q,kv,I,V,taps;} gs[]={{"8B",16,4096,4096,1024,12288,151936,20480},{"4B",16,2560,4096,1024,9728,151936,12800},{"27B",8,5120,4096,1024,17408,248320,25600}};
  for(auto&g:gs){ const int L=5; unsigned*ctr; CK(cudaMalloc(&ctr,4096)); CK(cudaMemset(ctr,0,4096));
    std::vector<BFloat16*> q(L),o(L),gu(L),up(L),dn(L); for(int l=0;l<L;l++){q[l]=mk((g.q+2*g.kv)*g.h,l,1/sqrtf(g.h));o[l]=mk(g.h*g.q,l+9,1/sqrtf(g.q));gu[l]=mk(g.I*g.h,l+19,1/sqrtf(g.h));up[l]=mk(g.I*g.h,l+29,1/sqrtf(g.h));dn[l]=mk(g.h*g.I,l+39,1/sqrtf(g.I));}
    BFloat16*fc=mk(g.h*g.taps,50,1/sqrtf(g.taps)),*lm=mk((size_t)g.V*g.h,51,1/sqrtf(g.h)),*nw=mk(g.h,52,1),*fk=mk(2*L*g.kv*g.h,57,1/sqrtf(g.h));
    BFloat16*x=mk(16*g.h,53,1),*att=mk(16*g.q,54,1),*mid=mk(16*g.I,55,1),*acc=mk(16*g.h,56,1),*qo=mk(16*(g.q+2*g.kv),56,1),*lo=mk(16*g.V,56,1),*tp=mk(16*g.taps,58,1),*fp=mk(16*g.h,59,1),*fo=mk(16*2*L*g.kv,60,1),*nm=mk(16*g.h,61,1);
    auto qkv=[&](int l){StreamLinear s{.x=x,.rows=g.rows,.k=g.h};s.parts[0]={q[l],nullptr,qo,g.q};s.parts[1]={q[l]+g.q*g.h,nullptr,qo+16*g.q,g.kv};s.parts[2]={q[l]+(g.q+g.kv)*g.h,nullptr,qo+16*(g.q+g.kv),g.kv};s.part_count=3;s.norm_weight=nw;s.epsilon=1e-6f;s.normed=nm;return s;};
    auto os=[&](int l){StreamLinear s{.x=att,.rows=g.rows,.k=g.q};s.parts[0]={o[l],nullptr,acc,g.h};s.epilogue=StreamEpilogue::kResidual;s.residual=x;return s;};
    auto gus=[&](int l){StreamLinear s{.x=x,.rows=g.rows,.k=g.h};s.parts[0]={gu[l],nullptr,mid,g.I};s.parts[1]={up[l],nullptr,nullptr,g.I};s.part_count=2;s.norm_weight=nw;s.epsilon=1e-6f;s.epilogue=StreamEpilogue::kSwiGlu;return s;};
    auto ds=[&](int l){StreamLinear s{.x=mid,.rows=g.rows,.k=g.I};s.parts[0]={dn[l],nullptr,acc,g.h};s.epilogue=StreamEpilogue::kResidual;s.residual=x;return s;};
    auto fcs=[&]{StreamLinear s{.x=tp,.rows=g.rows,.k=g.taps};s.parts[0]={fc,nullptr,fp,g.h};return s;};
    auto fks=[&]{StreamLinear s{.x=fp,.rows=g.rows,.k=g.h};s.parts[0]={fk,nullptr,fo,2*L*g.kv};s.norm_weight=nw;s.epsilon=1e-6f;return s;};
    auto lms=[&]{StreamLinear s{.x=x,.rows=g.rows,.k=g.h};s.parts[0]={lm,nullptr,lo,g.V};s.norm_weight=nw;s.epsilon=1e-6f;return s;};
    auto one=[&](const char*n,StreamLinear s,double bytes){char w[64];snprintf(w,64,"%s %s",g.name,n);timeit([&]{StreamChain c;c.Add(s);SK(LaunchStreamChain(c,ctr,st));},w,bytes,copy);};
    one("o",os(0),2.*g.h*g.q); one("down",ds(0),2.*g.h*g.I); one("fc",fcs(),2.*g.h*g.taps); one("gateup",gus(0),4.*g.h*g.I); one("lm",lms(),2.*g.h*g.V);
    double layer=2.*(g.h*g.q*2+2*g.kv*g.h+3*g.h*g.I), ends=2.*(g.h*g.taps+2*L*g.kv*g.h+(double)g.V*g.h);
    timeit([&]{StreamChain c;c.Add(os(0));c.Add(gus(0));c.Add(ds(0));c.Add(qkv(1));SK(LaunchStreamChain(c,ctr,st));},(std::string(g.name)+" layer chain").c_str(),layer,copy);
    timeit([&]{ {StreamChain c;c.Add(fcs());c.Add(fks());c.Add(qkv(0));SK(LaunchStreamChain(c,ctr,st));} for(int l=0;l<L;l++){StreamChain c;c.Add(os(l));c.Add(gus(l));c.Add(ds(l)); if(l+1<L)c.Add(qkv(l+1)); else c.Add(lms()); SK(LaunchStreamChain(c,ctr+32*(l+1),st));} },(std::string(g.name)+" all without attention").c_str(),layer*L+ends,copy);
    CK(cudaDeviceSynchronize()); std::vector<unsigned short> hh(64); CK(cudaMemcpy(hh.data(),lo,128,cudaMemcpyDeviceToHost)); float f; unsigned u=(unsigned)hh[5]<<16; memcpy(&f,&u,4); printf("logit %f\n",f); 
    for(auto p:{fc,lm,nw,fk,x,att,mid,acc,qo,lo,tp,fp,fo,nm})cudaFree(p); for(int l=0;l<L;l++){cudaFree(q[l]);cudaFree(o[l]);cudaFree(gu[l]);cudaFree(up[l]);cudaFree(dn[l]);}
  }
}
